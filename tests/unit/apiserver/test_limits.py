import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.limits import MAX_SECONDS, Slots, read_timeout, require_size_below, validate_nesting


def test_concurrent_writes_beyond_the_limit_get_429() -> None:
    slots = Slots(2)
    with slots, slots, pytest.raises(StatusError) as refusal, slots:
        pass
    status = refusal.value.status
    assert (status.code, status.reason) == (429, "TooManyRequests")
    assert status.message == "Too many requests, please try again later."
    assert status.details is not None
    assert status.details.retry_after_seconds == 1
    assert slots.taken == 0


def test_failed_write_releases_its_concurrency_slot() -> None:
    slots = Slots(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"), slots:
            raise ValueError("no")
    assert slots.taken == 0


def test_request_body_above_the_limit_is_rejected() -> None:
    require_size_below(3, largest=3)
    with pytest.raises(StatusError) as refusal:
        require_size_below(4, largest=3)
    error = refusal.value
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    assert error.message == "Request entity too large: limit is 3"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", MAX_SECONDS),
        ("0", MAX_SECONDS),
        ("0s", MAX_SECONDS),
        ("5s", 5),
        ("1m30s", MAX_SECONDS),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("250ms", 0.25),
        ("2s500ms", 2.5),
        ("9999h", MAX_SECONDS),
    ],
)
def test_request_timeout_is_parsed_as_a_go_duration(text: str, seconds: float) -> None:
    assert read_timeout(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["5", "soon", "-5s", "5 s", "1m-1s", "s", "5x", "1..5s", "9" * 90 + "s"])
def test_invalid_request_timeout_is_rejected(text: str) -> None:
    with pytest.raises(StatusError) as refusal:
        read_timeout(text)
    assert (refusal.value.code, refusal.value.reason) == (400, "BadRequest")


NESTED = {
    "flat": b"[[],[],{},{}]",
    "maximum depth": b'[{"a":[]}]',
    "brackets in strings": b'["[[[[[[", "\\"{{{{{{", "\\\\"]',
    "too many closing brackets": b"]]]][]",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED.keys())
def test_json_within_the_nesting_limit_is_accepted(body: bytes) -> None:
    validate_nesting(body, deepest=3)


@pytest.mark.parametrize(
    "body",
    [b"[[[[", b'{"a":{"b":{"c":{}}}}', b'{"\\"":[[["]"]]]}', b"[" * 1_000_000],
    ids=["unclosed arrays", "objects", "brackets in strings", "very long"],
)
def test_deeply_nested_json_is_rejected(body: bytes) -> None:
    with pytest.raises(StatusError) as refusal:
        validate_nesting(body, deepest=3)
    assert (refusal.value.code, refusal.value.message) == (400, "the body is nested more than 3 levels deep")


def test_nesting_check_of_an_unterminated_json_string_is_fast() -> None:
    validate_nesting(b'{"a": "' + b"\\" * 1_000_001 + b"[{" * 300, deepest=1000)
