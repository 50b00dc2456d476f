"""Bytes between two streams, and how it ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.unit.stream.pipes import GONE, Pipe

from virtshape.stream.duplex import HangUp
from virtshape.stream.relay import relay


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def test_bytes_go_both_ways_until_one_side_ends() -> None:
    async def scenario() -> None:
        near, far = Pipe(b"a", b"b"), Pipe(b"1", b"2", b"")
        await relay(near, far)
        assert near.written == b"12"
        assert far.written in (b"", b"a", b"ab")
        assert not near.is_closed
        assert not far.is_closed

    run(scenario())


@pytest.mark.parametrize("error", [HangUp(4000, "taken over"), ConnectionResetError("reset")], ids=["told", "broken"])
def test_an_end_with_a_reason_is_told(error: Exception) -> None:
    async def scenario() -> None:
        with pytest.raises(type(error)):
            await relay(Pipe(), Pipe(b"1", error))
        with pytest.raises(type(error)):
            await relay(Pipe(b"1", error), Pipe())

    run(scenario())


def test_what_a_side_said_last_is_carried_though_it_takes_no_more() -> None:
    async def scenario() -> None:
        near, far = Pipe(b"too late"), Pipe()
        far.refusal = GONE
        relaying = asyncio.create_task(relay(near, far))
        await asyncio.sleep(0.01)
        far.put(b"last words", b"")
        await relaying
        assert near.written == b"last words"

    run(scenario())


def test_the_answer_to_a_near_side_that_has_said_all_is_awaited() -> None:
    async def scenario() -> None:
        near, far = Pipe(b"question", b""), Pipe()
        relaying = asyncio.create_task(relay(near, far, linger=1.0))
        for piece in (b"one", b"two", b"three"):
            await asyncio.sleep(0.4)
            far.put(piece)
        far.put(b"")
        await relaying
        assert (far.written, near.written) == (b"question", b"onetwothree")

    run(scenario())


def test_but_not_for_ever() -> None:
    async def scenario() -> None:
        near, far = Pipe(b"question", b""), Pipe()
        await relay(near, far, linger=0.05)
        assert far.written == b"question"

    run(scenario())


def test_being_cancelled_leaves_nothing_running() -> None:
    async def scenario() -> None:
        before = asyncio.all_tasks()
        relaying = asyncio.create_task(relay(Pipe(), Pipe()))
        await asyncio.sleep(0.01)
        relaying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await relaying
        assert asyncio.all_tasks() == before

    run(scenario())
