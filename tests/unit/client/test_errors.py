"""Error responses of any server are parsed into the same errors."""

import json

import pytest

from virtshape.api.codec import encode
from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.client.errors import GoneError, parse_status_error


def test_status_response_is_parsed_into_the_original_error() -> None:
    sent = StatusError(422, "Invalid", "no good", [FieldError("spec.x", "bad")])
    sent.about("kubevirt.io", "VirtualMachine", "vm1").retry_after(3)
    read = parse_status_error(encode(sent.status))
    assert encode(read.status) == encode(sent.status)
    assert read.causes == sent.causes


def test_expired_status_is_parsed_as_a_gone_error() -> None:
    sent = StatusError(410, "Expired", "too old")
    sent.continuation = "go on here"
    read = parse_status_error(encode(sent.status))
    assert isinstance(read, GoneError)
    assert read.continuation == "go on here"


OTHERS: dict[str, tuple[bytes, int, str, str]] = {
    "plain text": (b"404 page not found\n", 404, "NotFound", "404 page not found"),
    "nothing": (b"", 502, "", "the server responded with status 502"),
    "other JSON": (b'{"error": "x"}', 403, "Forbidden", '{"error": "x"}'),
    "bytes": (b"\xff\xfe", 500, "", "��"),
    "newer Status": (
        json.dumps({"status": "Failure", "message": "m", "reason": "New", "code": 499, "details": {"z": 1}}).encode(),
        400,
        "New",
        "m",
    ),
}


@pytest.mark.parametrize(("body", "code", "reason", "message"), OTHERS.values(), ids=OTHERS.keys())
def test_error_response_in_any_format_is_parsed_with_its_message(
    body: bytes, code: int, reason: str, message: str
) -> None:
    error = parse_status_error(body, code)
    assert (error.code, error.reason, error.message) == (499 if reason == "New" else code, reason, message)
