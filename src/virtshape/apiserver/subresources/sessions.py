"""
One at a time at a console or a screen: whoever comes next takes the seat, and the one before is told so.

Opens nothing itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from weakref import WeakValueDictionary

from virtshape.stream.duplex import TAKEN_OVER, Duplex, HangUp


class ExclusiveStream:
    """A stream whose user can be asked to leave."""

    def __init__(self, stream: Duplex, on_close: Callable[["ExclusiveStream"], None]) -> None:
        self._stream = stream
        self._on_close = on_close
        self._reason: HangUp | None = None

    async def read(self) -> bytes:
        """The next bytes; HangUp with the reason once somebody else has the seat."""
        try:
            data = await self._stream.read()
        except (HangUp, OSError):
            if self._reason is None:
                raise
            data = b""
        if not data and self._reason is not None:
            raise self._reason
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        if self._reason is not None:
            raise self._reason
        await self._stream.write(data)

    async def close(self) -> None:
        """Let go of it."""
        self._on_close(self)
        await self._stream.close()

    async def disconnect(self, message: str) -> None:
        """Have the user leave; returns when the stream is closed."""
        self._reason = HangUp(TAKEN_OVER, message)
        await self.close()


class ExclusiveSessions:
    """Who has which seat."""

    def __init__(self) -> None:
        self._open_streams: dict[Hashable, ExclusiveStream] = {}
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def is_open(self, key: Hashable) -> bool:
        """Whether somebody has the seat."""
        return key in self._open_streams

    async def open(self, key: Hashable, open_stream: Callable[[], Awaitable[Duplex]], message: str) -> Duplex:
        """The stream that belongs to a seat; who had it before is told these words and has left by then."""
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock:
            before = self._open_streams.get(key)
            if before is not None:
                await before.disconnect(message)
            stream = ExclusiveStream(await open_stream(), lambda closed: self._release(key, closed))
            self._open_streams[key] = stream
            return stream

    def _release(self, key: Hashable, closed: ExclusiveStream) -> None:
        if self._open_streams.get(key) is closed:
            del self._open_streams[key]
