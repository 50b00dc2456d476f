"""Certificates of a component: renewal, and trust during the renewal."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from virtshape.apiserver.auth.certificates import AUTHORITY_LIFETIME, CERTIFICATE_LIFETIME
from virtshape.cluster.tls.selfsigned import RENEW_BEFORE, SelfSigned, format_self_signed, parse_self_signed, renew

NOW = datetime(2027, 1, 1, tzinfo=UTC)
HOSTS = ["virtshape-webhook.virtshape-system.svc", "10.0.0.1"]
FIRST = renew(None, HOSTS, NOW)


def trusts(authority: bytes, certificate: bytes) -> bool:
    try:
        signer = x509.load_pem_x509_certificate(authority)
        x509.load_pem_x509_certificate(certificate).verify_directly_issued_by(signer)
    except Exception:  # noqa: BLE001 - whatever a library calls it
        return False
    return True


def test_valid_certificate_is_not_renewed() -> None:
    assert renew(FIRST, HOSTS, NOW) is FIRST
    assert renew(FIRST, HOSTS[:1], NOW) is FIRST


def test_certificate_and_ca_round_trip_through_a_secret() -> None:
    assert parse_self_signed(format_self_signed(FIRST)) == FIRST


BROKEN = {
    "empty": {},
    "absent": None,
    "half": {name: text for name, text in format_self_signed(FIRST).items() if name != "tls.key"},
    "invalid base64": format_self_signed(FIRST) | {"tls.key": "%%%"},
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_incomplete_secret_has_no_certificate(data: dict[str, str] | None) -> None:
    assert parse_self_signed(data) is None


def test_certificate_is_renewed_before_expiry_by_the_same_authority() -> None:
    later = NOW + CERTIFICATE_LIFETIME - RENEW_BEFORE + timedelta(seconds=1)
    assert renew(FIRST, HOSTS, later - timedelta(days=2)) is FIRST
    second = renew(FIRST, HOSTS, later)
    assert second.authority == FIRST.authority
    assert second.certificate != FIRST.certificate
    assert trusts(FIRST.authority, second.certificate)


def test_certificate_is_renewed_for_an_additional_host() -> None:
    second = renew(FIRST, [*HOSTS, "another"], NOW)
    assert second.certificate != FIRST.certificate
    assert trusts(FIRST.authority, second.certificate)


def test_renewed_authority_validates_old_and_new_certificates() -> None:
    late = NOW + AUTHORITY_LIFETIME - CERTIFICATE_LIFETIME
    second = renew(FIRST, HOSTS, late)
    assert second.authority != FIRST.authority
    assert trusts(FIRST.authority, second.certificate)
    assert trusts(second.authority, FIRST.certificate)
    assert renew(second, HOSTS, late) is second


INCONSISTENT = {
    "key of another certificate": SelfSigned(
        FIRST.authority, FIRST.authority_key, FIRST.certificate, renew(None, HOSTS, NOW).key
    ),
    "certificate of another CA": SelfSigned(
        FIRST.authority,
        FIRST.authority_key,
        *(getattr(renew(None, HOSTS, NOW), name) for name in ("certificate", "key")),
    ),
    "CA without its key": SelfSigned(
        FIRST.authority, renew(None, HOSTS, NOW).authority_key, FIRST.certificate, FIRST.key
    ),
    "nonsense": SelfSigned(b"a", b"b", b"c", b"d"),
}


@pytest.mark.parametrize("pair", INCONSISTENT.values(), ids=INCONSISTENT.keys())
def test_certificates_and_keys_that_do_not_match_are_replaced(pair: SelfSigned) -> None:
    second = renew(pair, HOSTS, NOW)
    assert second != pair
    assert trusts(second.authority, second.certificate)
