"""
Exclusive sessions: one client per console or VNC display.

A new client disconnects the previous client, which receives a message.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from weakref import WeakValueDictionary

from virtshape.stream.duplex import TAKEN_OVER, Duplex, StreamClosed


class ExclusiveStream:
    """A stream that can be closed with a reason for its client."""

    def __init__(self, stream: Duplex, on_close: Callable[["ExclusiveStream"], None]) -> None:
        self._stream = stream
        self._on_close = on_close
        self._reason: StreamClosed | None = None

    async def read(self) -> bytes:
        """Return the next bytes; raise StreamClosed with the reason after a disconnect."""
        try:
            data = await self._stream.read()
        except (StreamClosed, OSError):
            if self._reason is None:
                raise
            data = b""
        if not data and self._reason is not None:
            raise self._reason
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes; raise StreamClosed with the reason after a disconnect."""
        if self._reason is not None:
            raise self._reason
        await self._stream.write(data)

    async def close(self) -> None:
        """Close the stream."""
        self._on_close(self)
        await self._stream.close()

    async def disconnect(self, message: str) -> None:
        """Close the stream with a message for its client."""
        self._reason = StreamClosed(TAKEN_OVER, message)
        await self.close()


class ExclusiveSessions:
    """The open sessions, by key; each session has at most one client."""

    def __init__(self) -> None:
        self._open_streams: dict[Hashable, ExclusiveStream] = {}
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def is_open(self, key: Hashable) -> bool:
        """Return True if a client is connected to the session."""
        return key in self._open_streams

    async def open(self, key: Hashable, open_stream: Callable[[], Awaitable[Duplex]], message: str) -> Duplex:
        """Disconnect the previous client of this session, if any, and send it a message; then return a new stream."""
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
