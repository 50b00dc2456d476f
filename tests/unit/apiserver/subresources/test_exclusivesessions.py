"""Exclusive sessions: one client per console or VNC display."""

import asyncio

import pytest
from tests.support.pipes import GONE, Pipe

from virtshape.apiserver.subresources.exclusivesessions import ExclusiveSessions
from virtshape.stream.duplex import TAKEN_OVER, StreamClosed


async def test_new_session_closes_the_stream_of_the_previous_session() -> None:
    sessions, first, second = ExclusiveSessions(), Pipe(), Pipe()

    async def open_first() -> Pipe:
        return first

    async def open_second() -> Pipe:
        assert first.is_closed
        return second

    stream = await sessions.open("console", open_first, "unused")
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(0)
    other = await sessions.open("console", open_second, "another client connected")
    with pytest.raises(StreamClosed, match="another client connected") as caught:
        await reading
    assert caught.value.code == TAKEN_OVER
    with pytest.raises(StreamClosed, match="another client connected"):
        await stream.write(b"x")
    await stream.close()
    assert sessions.is_open("console"), "closing a replaced stream does not end the new session"
    await other.close()
    assert not sessions.is_open("console")


async def test_sessions_with_different_keys_are_independent() -> None:
    sessions, pipes = ExclusiveSessions(), [Pipe(), Pipe()]

    for number, pipe in enumerate(pipes):

        async def open_stream(pipe: Pipe = pipe) -> Pipe:
            return pipe

        await sessions.open(number, open_stream, "")
    assert [pipe.is_closed for pipe in pipes] == [False, False]


async def test_stream_error_is_raised_when_the_session_is_read() -> None:
    async def open_stream() -> Pipe:
        return Pipe(b"bytes", GONE)

    stream = await ExclusiveSessions().open("console", open_stream, "")
    assert await stream.read() == b"bytes"
    with pytest.raises(StreamClosed, match="gone"):
        await stream.read()


async def test_no_session_is_open_after_a_stream_failed_to_open() -> None:
    sessions = ExclusiveSessions()

    async def fail() -> Pipe:
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        await sessions.open("console", fail, "")
    assert not sessions.is_open("console")
