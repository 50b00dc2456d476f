"""
Streams end with the session, the credentials and the permission that opened them.

A client receives no events after its token or its permission was revoked, and its input no longer reaches a guest.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from time import monotonic
from typing import Final

from virtshape.apiserver.message import AnyResponse, IsPermitted, Stream, Upgrade
from virtshape.stream.duplex import GOING_AWAY, Duplex, StreamClosed

CHECK_SECONDS: Final = 1.0
"""How often an active WebSocket is checked; a watch is checked before each event."""


class StreamPermission:
    """
    Whether a stream may continue.

    A positive result is used again for at most CHECK_SECONDS, and only until roles, bindings or service accounts
    change. A watch asks before each event, so a complete check each time would take longer than sending the event.
    """

    __slots__ = ("_check", "_count_changes", "_seen", "_until")

    def __init__(self, check: IsPermitted, count_changes: Callable[[], tuple[int, int]]) -> None:
        self._check = check
        self._count_changes = count_changes
        self._seen: tuple[int, int] | None = None
        self._until = 0.0

    def __call__(self) -> bool:
        """Return True if the credentials of the client are valid and it has the permission for the stream."""
        changes, now = self._count_changes(), monotonic()
        if changes == self._seen and now < self._until:
            return True
        if not self._check():
            return False
        self._seen, self._until = changes, now + CHECK_SECONDS
        return True


def bind_to_session(
    answer: AnyResponse | Awaitable[AnyResponse], is_valid: IsPermitted
) -> AnyResponse | Awaitable[AnyResponse]:
    """Return the response; if it is a stream, it ends after `is_valid` returns False, even if it is idle."""
    return _bind(answer, is_valid) if isinstance(answer, AnyResponse) else _bind_when_done(answer, is_valid)


async def _bind_when_done(answer: Awaitable[AnyResponse], is_valid: IsPermitted) -> AnyResponse:
    return _bind(await answer, is_valid)


def _bind(answer: AnyResponse, is_valid: IsPermitted) -> AnyResponse:
    match answer:
        case Stream():
            answer.chunks = _end_with_session(answer.chunks, is_valid)
            answer.is_permitted = is_valid
        case Upgrade():
            answer.stream = SessionStream(answer.stream, is_valid)
            answer.is_permitted = is_valid
    return answer


async def _end_with_session(chunks: AsyncIterator[bytes], is_valid: IsPermitted) -> AsyncIterator[bytes]:
    async with aclosing(chunks) as opened:  # type: ignore[type-var]  # every stream here is a generator
        async for chunk in opened:
            if not is_valid():
                return
            yield chunk


class SessionStream:
    """A stream to a guest that passes bytes while the session is valid."""

    def __init__(self, stream: Duplex, is_valid: IsPermitted) -> None:
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
            await self._stream.close()  # closing ends a pending read
            raise StreamClosed(GOING_AWAY, "the session has ended, or the permission was revoked: sign in again")
        self._checked = now
