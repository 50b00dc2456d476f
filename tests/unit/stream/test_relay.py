"""Relay of bytes between two streams until a stream ends or fails, a timeout expires, or the relay is cancelled."""

import asyncio

import pytest
from tests.support.pipes import GONE, Pipe

from virtshape.stream.duplex import StreamClosed
from virtshape.stream.relay import relay


async def test_bytes_are_relayed_in_both_directions_until_one_stream_ends() -> None:
    near, far = Pipe(b"a", b"b"), Pipe(b"1", b"2", b"")
    await relay(near, far)
    assert near.written == b"12"
    assert far.written in (b"", b"a", b"ab")
    assert not near.is_closed
    assert not far.is_closed


@pytest.mark.parametrize(
    "error", [StreamClosed(4000, "taken over"), ConnectionResetError("reset")], ids=["closed", "broken"]
)
async def test_relay_raises_the_error_of_either_stream(error: Exception) -> None:
    with pytest.raises(type(error)):
        await relay(Pipe(), Pipe(b"1", error))
    with pytest.raises(type(error)):
        await relay(Pipe(b"1", error), Pipe())


async def test_relay_delivers_the_last_bytes_of_a_stream_that_rejects_writes() -> None:
    near, far = Pipe(b"too late"), Pipe()
    far.refusal = GONE
    relaying = asyncio.create_task(relay(near, far))
    await asyncio.sleep(0.01)
    far.put(b"last words", b"")
    await relaying
    assert near.written == b"last words"


async def test_relay_waits_for_the_response_after_the_client_has_closed_its_stream() -> None:
    near, far = Pipe(b"question", b""), Pipe()
    relaying = asyncio.create_task(relay(near, far, linger=4.0))
    for piece in (b"one", b"two", b"three"):
        await asyncio.sleep(1.5)  # together longer than `linger`
        far.put(piece)
    far.put(b"")
    await relaying
    assert (far.written, near.written) == (b"question", b"onetwothree")


async def test_relay_stops_waiting_for_a_response_after_a_timeout() -> None:
    near, far = Pipe(b"question", b""), Pipe()
    await relay(near, far, linger=0.05)
    assert far.written == b"question"


async def test_cancelled_relay_leaves_no_running_tasks() -> None:
    before = asyncio.all_tasks()
    relaying = asyncio.create_task(relay(Pipe(), Pipe()))
    await asyncio.sleep(0.01)
    relaying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await relaying
    assert asyncio.all_tasks() == before
