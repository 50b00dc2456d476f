"""
The keys and certificates of a data directory, in files that only their owner may read.

    DIR/pki/ca.crt, ca.key                  the CA, valid for ten years
    DIR/pki/apiserver.crt, apiserver.key    the server's certificate, renewed a month before it expires
    DIR/pki/sa.key                          the key that signs service account tokens

Missing files are created. A CA certificate without its key is an error, because clients already trust the certificate.
"""

import ssl
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from socket import gethostname
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from virtshape.apiserver.auth.certificates import (
    CERTIFICATE_LIFETIME,
    Authority,
    dump_key,
    load_key,
    make_key,
)
from virtshape.apiserver.auth.privatefile import read_private, write_private

AUTHORITY_NAME = "virtshape-ca"
RENEW_BEFORE = timedelta(days=30)
CLUSTER_DOMAIN = "cluster.local"
SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    f"kubernetes.default.svc.{CLUSTER_DOMAIN}",
)
LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")


class PkiError(Exception):
    """A key or certificate file cannot be used; the message says how to fix this."""


class ServerFiles(NamedTuple):
    """The files that a TLS server loads."""

    certificate: Path
    key: Path
    authority: Path


class Pki:
    """The keys and certificates in one directory."""

    def __init__(
        self, directory: Path, now: datetime | None = None, *, lifetime: timedelta = CERTIFICATE_LIFETIME
    ) -> None:
        """Load the CA, or create it; `lifetime` applies to server certificates."""
        self._directory = directory
        self._lifetime = lifetime
        self.renew_before = min(RENEW_BEFORE, lifetime / 3)
        self.authority = self._ensure_authority(now or datetime.now(UTC))

    def ensure_server_certificate(self, hosts: Iterable[str] = (), now: datetime | None = None) -> ServerFiles:
        """Return the files of the server certificate for this machine and these hosts; replace it if it is unusable."""
        now = now or datetime.now(UTC)
        files = ServerFiles(self._path("apiserver.crt"), self._path("apiserver.key"), self._path("ca.crt"))
        wanted = list(dict.fromkeys(_normalize(host) for host in (*LOOPBACK_HOSTS, *SERVICE_NAMES, *_names(), *hosts)))
        if not self._is_usable(files, set(wanted), now):
            credential = self.authority.issue_server(wanted, now, lifetime=self._lifetime)
            # Write the certificate last: after a crash in between, the pair does not match and is recreated.
            write_private(files.key, credential.key)
            write_private(files.certificate, credential.certificate)
        return files

    def ensure_signing_key(self) -> ec.EllipticCurvePrivateKey:
        """Return the key that signs service account tokens; create a missing key."""
        return self._ensure_key("sa.key")

    def build_server_context(self, hosts: Iterable[str] = ()) -> ssl.SSLContext:
        """Return a TLS context with the server's certificate; clients may send a certificate that this CA signed."""
        files = self.ensure_server_certificate(hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._load(context, files)
        context.verify_mode = ssl.CERT_OPTIONAL  # clients without a certificate may have a token
        context.set_alpn_protocols(["http/1.1"])
        return context

    def renew_server_context(self, context: ssl.SSLContext, hosts: Iterable[str] = ()) -> bool:
        """
        Renew the server's certificate if it expires soon or is unusable; return True if it was renewed and loaded.

        A renewed certificate applies to new connections only.
        """
        self.authority = self._ensure_authority(datetime.now(UTC))
        present = read_private(self._path("apiserver.crt"))
        files = self.ensure_server_certificate(hosts)
        if read_private(files.certificate) == present:
            return False
        self._load(context, files)
        return True

    def _load(self, context: ssl.SSLContext, files: ServerFiles) -> None:
        context.load_cert_chain(files.certificate, files.key)
        context.load_verify_locations(cadata=self.authority.pem.decode())

    def _ensure_authority(self, now: datetime) -> Authority:
        certificate_path, key_path = self._path("ca.crt"), self._path("ca.key")
        if certificate_path.exists() and not key_path.exists():
            raise PkiError(
                f"{key_path} is missing but {certificate_path} exists: restore the key, or remove "
                "the certificate too, which invalidates every kubeconfig issued so far"
            )
        key = self._ensure_key("ca.key")
        if certificate_path.exists():
            authority = Authority(self._load_certificate("ca.crt"), key)
            if authority.certificate.public_key() != key.public_key():
                raise PkiError(f"{certificate_path} and {key_path} do not match: restore the matching pair")
            # Certificates must not outlive the CA that signs them. If the clock is set back, the CA is not valid yet.
            is_valid = authority.certificate.not_valid_before_utc <= now
            if is_valid and authority.certificate.not_valid_after_utc - now > CERTIFICATE_LIFETIME + RENEW_BEFORE:
                return authority
        authority = Authority.create(key, AUTHORITY_NAME, now)
        write_private(certificate_path, authority.pem)
        return authority

    def _is_usable(self, files: ServerFiles, wanted: set[str], now: datetime) -> bool:
        if not (files.certificate.exists() and files.key.exists()):
            return False
        certificate = self._load_certificate(files.certificate.name)
        return (
            certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - self.renew_before
            and wanted <= _hosts_of(certificate)
            and self.authority.has_issued(certificate)
            and certificate.public_key() == self._ensure_key(files.key.name).public_key()
        )

    def _ensure_key(self, name: str) -> ec.EllipticCurvePrivateKey:
        path = self._path(name)
        if not path.exists():
            key = make_key()
            write_private(path, dump_key(key))
            return key
        try:
            return load_key(read_private(path))
        except ValueError as error:
            raise PkiError(
                f"{path} is not a P-256 key ({error}): restore the file from a backup, or remove it"
            ) from error

    def _load_certificate(self, name: str) -> x509.Certificate:
        path = self._path(name)
        try:
            return x509.load_pem_x509_certificate(read_private(path))
        except ValueError as error:
            raise PkiError(
                f"{path} is not a certificate ({error}): restore the file from a backup, or remove it"
            ) from error

    def _path(self, name: str) -> Path:
        return self._directory / name


def _names() -> list[str]:
    name = gethostname()
    return [name] if name.isascii() and name else []


def _normalize(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        return host.lower()


def _hosts_of(certificate: x509.Certificate) -> set[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    addresses = {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return addresses | set(names.get_values_for_type(x509.DNSName))
