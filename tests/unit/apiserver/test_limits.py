import asyncio
from collections.abc import AsyncIterator

import pytest

from virtshape.api.status import StatusError
from virtshape.apiserver.limits import InFlight, check_nesting, collect_body


def test_reads_and_writes_are_counted_apart() -> None:
    in_flight = InFlight(reads=1, writes=1)
    with in_flight.admit("get"), in_flight.admit("create"):
        for verb in ("get", "list", "create", "update", "patch", "delete"):
            with pytest.raises(StatusError) as refusal, in_flight.admit(verb):
                pass
            status = refusal.value.status
            assert (status.code, status.reason) == (429, "TooManyRequests")
            assert status.message == "Too many requests, please try again later."
            assert status.details is not None
            assert status.details.retry_after_seconds == 1


def test_a_request_that_ends_makes_room_even_if_it_fails() -> None:
    in_flight = InFlight(reads=1, writes=1)
    for _ in range(3):
        with pytest.raises(ValueError, match="no"), in_flight.admit("patch"):
            raise ValueError("no")
    assert in_flight.writes.taken == 0


@pytest.mark.parametrize(("verb", "subresource"), [("watch", ""), ("get", "console"), ("get", "vnc")])
def test_what_goes_on_for_hours_does_not_count(verb: str, subresource: str) -> None:
    in_flight = InFlight(reads=0, writes=0)
    with in_flight.admit(verb, subresource):
        pass


async def _chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def test_a_body_is_put_together() -> None:
    assert asyncio.run(collect_body(_chunks(b"ab", b"c"), largest=3)) == b"abc"


@pytest.mark.parametrize("declared", [None, 4, 2], ids=["undeclared", "declared", "declared wrongly"])
def test_a_body_that_is_too_large_is_refused(declared: int | None) -> None:
    with pytest.raises(StatusError) as refusal:
        asyncio.run(collect_body(_chunks(b"ab", b"cd"), declared, largest=3))
    error = refusal.value
    assert (error.code, error.reason) == (413, "RequestEntityTooLarge")
    assert error.message == "Request entity too large: limit is 3"


def test_a_declared_size_is_refused_before_a_byte_is_read() -> None:
    read = []

    async def chunks() -> AsyncIterator[bytes]:
        read.append(b"")
        yield b""

    with pytest.raises(StatusError):
        asyncio.run(collect_body(chunks(), 4, largest=3))
    assert read == []


NESTED = {
    "flat": b"[[],[],{},{}]",
    "as deep as may be": b'[{"a":[]}]',
    "brackets in texts": b'["[[[[[[", "\\"{{{{{{", "\\\\"]',
    "closed too often": b"]]]][]",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED.keys())
def test_json_of_few_levels_is_let_through(body: bytes) -> None:
    check_nesting(body, deepest=3)


@pytest.mark.parametrize(
    "body",
    [b"[[[[", b'{"a":{"b":{"c":{}}}}', b'{"\\"":[[["]"]]]}', b"[" * 1_000_000],
    ids=["open", "maps", "texts", "huge"],
)
def test_json_of_many_levels_is_refused(body: bytes) -> None:
    with pytest.raises(StatusError) as refusal:
        check_nesting(body, deepest=3)
    assert (refusal.value.code, refusal.value.message) == (400, "the body is nested more than 3 levels deep")


def test_a_text_that_never_ends_is_looked_through_quickly() -> None:
    check_nesting(b'{"a": "' + b"\\" * 1_000_001 + b"[{" * 300, deepest=1000)
