"""
A certificate authority and the serving certificate it issued, as stored in a Secret, and their renewal.

The functions are pure, except that they create keys. A renewed authority keeps its key, so clients that trust either of
its certificates accept everything that it signed.
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


class Material(Struct, frozen=True):
    """An authority and a serving certificate with their keys, all in PEM."""

    authority: bytes
    authority_key: bytes
    certificate: bytes
    key: bytes


def parse_material(data: Mapping[str, str] | None) -> Material | None:
    """Return the material in a Secret's data; None if any of it is missing or invalid."""
    if not data or not all(data.get(name) for name in _FILES.values()):
        return None
    try:
        return Material(**{field: b64decode(data[name], validate=True) for field, name in _FILES.items()})
    except BinaryError:
        return None


def format_material(material: Material) -> dict[str, str]:
    """Return the Secret data for this material."""
    return {name: b64encode(getattr(material, field)).decode() for field, name in _FILES.items()}


def renew(material: Material | None, hosts: Collection[str], now: datetime) -> Material:
    """Return the material, with parts that are missing, invalid or due renewed; the same object if nothing changes."""
    authority, is_new = _renew_authority(material, now)
    if material is not None and not is_new and _is_usable(material, authority, hosts, now):
        return material
    credential = authority.issue_server(hosts, now)
    return Material(authority.pem, dump_key(authority.key), credential.certificate, credential.key)


def _renew_authority(material: Material | None, now: datetime) -> tuple[Authority, bool]:
    """Return the authority, and whether its certificate is new."""
    if material is None:
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    try:
        key = load_key(material.authority_key)
        certificate = x509.load_pem_x509_certificate(material.authority)
    except ValueError:
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    if certificate.public_key() != key.public_key():
        return Authority.create(make_key(), AUTHORITY_NAME, now), True
    # Certificates that the authority signs now must not outlive it.
    if certificate.not_valid_after_utc - now > CERTIFICATE_LIFETIME + RENEW_BEFORE:
        return Authority(certificate, key), False
    return Authority.create(key, AUTHORITY_NAME, now), True


def _is_usable(material: Material, authority: Authority, hosts: Collection[str], now: datetime) -> bool:
    try:
        certificate = x509.load_pem_x509_certificate(material.certificate)
        key = load_pem_private_key(material.key, password=None)
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
