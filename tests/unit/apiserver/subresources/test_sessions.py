"""Who has the console."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.unit.stream.pipes import GONE, Pipe

from virtshape.apiserver.subresources.sessions import ExclusiveSessions
from virtshape.stream.duplex import TAKEN_OVER, HangUp


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def test_the_next_one_takes_the_seat_when_the_stream_before_is_closed() -> None:
    async def scenario() -> None:
        seats, first, second = ExclusiveSessions(), Pipe(), Pipe()

        async def open_first() -> Pipe:
            return first

        async def open_second() -> Pipe:
            assert first.is_closed
            return second

        seated = await seats.take("console", open_first, "never told")
        reading = asyncio.create_task(seated.read())
        await asyncio.sleep(0)
        other = await seats.take("console", open_second, "somebody came")
        with pytest.raises(HangUp, match="somebody came") as caught:
            await reading
        assert caught.value.code == TAKEN_OVER
        with pytest.raises(HangUp, match="somebody came"):
            await seated.write(b"x")
        await seated.close()
        assert seats.is_taken("console"), "who was made to leave does not free the seat of another"
        await other.close()
        assert not seats.is_taken("console")

    run(scenario())


def test_seats_that_differ_do_not_know_of_each_other() -> None:
    async def scenario() -> None:
        seats, pipes = ExclusiveSessions(), [Pipe(), Pipe()]

        for number, pipe in enumerate(pipes):

            async def open_stream(pipe: Pipe = pipe) -> Pipe:
                return pipe

            await seats.take(number, open_stream, "")
        assert [pipe.is_closed for pipe in pipes] == [False, False]

    run(scenario())


def test_a_stream_that_breaks_by_itself_says_so() -> None:
    async def scenario() -> None:
        async def open_stream() -> Pipe:
            return Pipe(b"bytes", GONE)

        seated = await ExclusiveSessions().take("console", open_stream, "")
        assert await seated.read() == b"bytes"
        with pytest.raises(HangUp, match="gone"):
            await seated.read()

    run(scenario())


def test_a_stream_that_cannot_be_opened_leaves_the_seat_free() -> None:
    async def scenario() -> None:
        seats = ExclusiveSessions()

        async def fail() -> Pipe:
            raise FileNotFoundError

        with pytest.raises(FileNotFoundError):
            await seats.take("console", fail, "")
        assert not seats.is_taken("console")

    run(scenario())
