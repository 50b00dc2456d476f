"""Audit IDs of HTTP requests."""

import uuid

import pytest

from virtshape.apiserver.message import Request

GIVEN = {
    "ID of the client": ("nightly-build-7", "nightly-build-7"),
    "too long": ("x" * 100, "x" * 64),
}


@pytest.mark.parametrize(("given", "expected"), GIVEN.values(), ids=GIVEN.keys())
def test_client_may_choose_the_audit_id_of_its_request(given: str, expected: str) -> None:
    assert Request("GET", "/", {"audit-id": given}).audit_id == expected


@pytest.mark.parametrize("given", [None, "", "é", "a\tb", "a\x00b"])
def test_request_without_a_valid_audit_id_gets_a_random_uuid(given: str | None) -> None:
    headers = {} if given is None else {"audit-id": given}
    requests = [Request("GET", "/", headers) for _ in range(100)]
    found = {request.audit_id for request in requests}
    assert len(found) == 100
    assert {uuid.UUID(text).version for text in found} == {4}
    assert requests[0].audit_id == requests[0].audit_id
