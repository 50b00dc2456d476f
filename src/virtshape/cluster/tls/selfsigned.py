"""
A CA and the serving certificate that it issued, as stored in a Secret, and their renewal.

The functions are pure, except that they create keys. A renewed CA has the same key, so clients that trust its old or
its new certificate accept all certificates that it signed.
"""

from base64 import b64decode, b64encode
from binascii import Error as BinaryError
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec import Struct

from virtshape.apiserver.auth.certificates import CERTIFICATE_LIFETIME, Authority, dump_key, load_key, make_key

AUTHORITY_NAME: Final = "virtshape-cluster-ca"
RENEW_BEFORE: Final = timedelta(days=90)
_FILES: Final = {"authority": "ca.crt", "authority_key": "ca.key", "certificate": "tls.crt", "key": "tls.key"}


class SelfSigned(Struct, frozen=True):
    """A CA certificate and a serving certificate with their keys, all in PEM."""

    authority: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes


def parse_self_signed(data: Mapping[str, str] | None) -> SelfSigned | None:
    """Return the CA and the certificate in a Secret's data; None if one is missing or not valid base64."""
    if not data or not all(data.get(name) for name in _FILES.values()):
        return None
    try:
        return SelfSigned(**{field: b64decode(data[name], validate=True) for field, name in _FILES.items()})
    except BinaryError:
        return None


def format_self_signed(pair: SelfSigned) -> dict[str, str]:
    """Return the data of a Secret with this CA and certificate."""
    return {name: b64encode(getattr(pair, field)).decode() for field, name in _FILES.items()}


def renew(pair: SelfSigned | None, hosts: Collection[str], now: datetime) -> SelfSigned:
    """
    Renew the CA and the certificate if they are missing, invalid or due for renewal.

    Return the same object if nothing changes.
    """
    authority, is_new = _renew_authority(pair, now)
    if pair is not None and not is_new and _is_usable(pair, authority, hosts, now):
        return pair
    credential = authority.issue_server(hosts, now)
    return SelfSigned(authority.pem, dump_key(authority.key), credential.certificate, credential.key)


def _renew_authority(pair: SelfSigned | None, now: datetime) -> tuple[Authority, bool]:
    """Return the CA, and whether its certificate is new."""
    if pair is None:
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    try:
        key = load_key(pair.authority_key)
        certificate = x509.load_pem_x509_certificate(pair.authority)
    except ValueError:
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    if certificate.public_key() != key.public_key():
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    # Certificates that the CA signs now must not outlive its own certificate.
    if certificate.not_valid_after_utc - now > CERTIFICATE_LIFETIME + RENEW_BEFORE:
        return Authority(certificate, key), False
    return Authority.create(key, AUTHORITY_NAME, now), True


def _is_usable(pair: SelfSigned, authority: Authority, hosts: Collection[str], now: datetime) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = load_pem_private_key(pair.key, password=None)
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    covered = {str(one) for one in names.get_values_for_type(x509.IPAddress)} | set(
        names.get_values_for_type(x509.DNSName)
    )
    return (
        certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc - RENEW_BEFORE
        and set(hosts) <= covered
        and authority.has_issued(certificate)
        and isinstance(key, ec.EllipticCurvePrivateKey)
        and certificate.public_key() == key.public_key()
    )
