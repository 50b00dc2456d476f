"""X.509 certificates: a CA and the server and client certificates it signs. All keys are P-256."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME = timedelta(days=3650)
CERTIFICATE_LIFETIME = timedelta(days=365)
CLOCK_SKEW = timedelta(minutes=5)


class Credential(NamedTuple):
    """A certificate and its key as PEM, with the certificate's serial number and expiry."""

    certificate: bytes
    key: bytes
    serial: str
    expires: datetime


class Authority:
    """Signs the certificates of one data directory."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self.pem = certificate.public_bytes(Encoding.PEM)
        self.key = key

    @classmethod
    def create(cls, key: ec.EllipticCurvePrivateKey, name: str, now: datetime | None = None) -> "Authority":
        """Return a self-signed CA, which also verifies certificates from an earlier CA with the same key and name."""
        now = now or datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        public = key.public_key()
        builder = (
            _build(subject, public, now, now + AUTHORITY_LIFETIME)
            .issuer_name(subject)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
        )
        return cls(builder.sign(key, hashes.SHA256()), key)

    def issue_server(
        self, hosts: Iterable[str], now: datetime | None = None, *, lifetime: timedelta = CERTIFICATE_LIFETIME
    ) -> Credential:
        """Return a certificate for a server with these host names and addresses."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, "virtshape")]
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, now, lifetime, names)

    def issue_client(
        self,
        name: str,
        groups: Sequence[str] = (),
        *,
        lifetime: timedelta = CERTIFICATE_LIFETIME,
        now: datetime | None = None,
    ) -> Credential:
        """Return a client certificate for a user with these groups."""
        subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, now, lifetime)

    def has_issued(self, certificate: x509.Certificate) -> bool:
        """Return True if this CA signed the certificate."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def _issue(
        self,
        subject: Sequence[x509.NameAttribute[str]],
        usage: x509.ObjectIdentifier,
        now: datetime | None,
        lifetime: timedelta,
        names: x509.SubjectAlternativeName | None = None,
    ) -> Credential:
        now = now or datetime.now(UTC)
        key = make_key()
        expires = min(now + lifetime, self.certificate.not_valid_after_utc)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            _build(x509.Name(subject), key.public_key(), now, expires)
            .issuer_name(self.certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(issuer_key, critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return Credential(
            certificate.public_bytes(Encoding.PEM),
            dump_key(key),
            format_serial(certificate.serial_number),
            certificate.not_valid_after_utc,
        )


def make_key() -> ec.EllipticCurvePrivateKey:
    """Return a new P-256 key."""
    return ec.generate_private_key(ec.SECP256R1())


def dump_key(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Encode the key as PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def load_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Decode a PEM key; raise ValueError if it is not a P-256 key."""
    key = load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("not a P-256 key")  # noqa: TRY004 -- callers handle all invalid keys alike
    return key


def format_serial(number: int) -> str:
    """Format a serial number as TLS libraries do: upper-case hexadecimal with an even number of digits."""
    text = f"{number:X}"
    return text.zfill(len(text) + len(text) % 2)


def _build(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, expires: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(expires)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, signs_certificates: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
