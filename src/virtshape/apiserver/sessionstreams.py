"""
Streams to browsers: a watch or a WebSocket ends with the session that opened it.

Soon after its session has ended, a browser receives no more data, and its input no longer reaches a guest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final

from virtshape.apiserver.http import AnyResponse
from virtshape.apiserver.message import Stream, Upgrade
from virtshape.stream.duplex import GOING_AWAY, Duplex, StreamClosed

CHECK_SECONDS: Final = 1.0
"""How often the session of an active WebSocket is checked; that of a watch is checked before each event."""

IsValid = Callable[[], bool]
"""Returns True while the session is valid."""


def bind_to_session(
    answer: AnyResponse | Awaitable[AnyResponse], is_valid: IsValid
) -> AnyResponse | Awaitable[AnyResponse]:
    """Return the response; if it is a stream, it ends with the session."""
    return _bind(answer, is_valid) if isinstance(answer, AnyResponse) else _bind_when_done(answer, is_valid)


async def _bind_when_done(answer: Awaitable[AnyResponse], is_valid: IsValid) -> AnyResponse:
    return _bind(await answer, is_valid)


def _bind(answer: AnyResponse, is_valid: IsValid) -> AnyResponse:
    match answer:
        case Stream():
            answer.chunks = _end_with_session(answer.chunks, is_valid)
        case Upgrade():
            answer.stream = SessionStream(answer.stream, is_valid)
    return answer


async def _end_with_session(chunks: AsyncIterator[bytes], is_valid: IsValid) -> AsyncIterator[bytes]:
    async with aclosing(chunks) as opened:  # type: ignore[type-var]  # every stream here is a generator
        async for chunk in opened:
            if not is_valid():
                return
            yield chunk


class SessionStream:
    """A stream to a guest that passes bytes while the session is valid."""

    def __init__(self, stream: Duplex, is_valid: IsValid) -> None:
        self._stream = stream
        self._is_valid = is_valid
        self._checked = -CHECK_SECONDS

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end; raise StreamClosed if the session has ended."""
        data = await self._stream.read()
        await self._require_session()
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes; raise StreamClosed if the session has ended."""
        await self._require_session()
        await self._stream.write(data)

    async def close(self) -> None:
        """Close the stream."""
        await self._stream.close()

    async def _require_session(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._checked < CHECK_SECONDS:
            return
        if not self._is_valid():
            await self._stream.close()  # ends a pending read
            raise StreamClosed(GOING_AWAY, "the session has ended: sign in again")
        self._checked = now
