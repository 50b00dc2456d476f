"""
A two-way stream of bytes: what a console, a screen, a forwarded port and a WebSocket have in common.

Also the form that sockets have. Nothing here knows what the bytes mean.
"""

import asyncio
from typing import Final, Protocol

NORMAL: Final = 1000
GOING_AWAY: Final = 1001
BROKEN_OFF: Final = 1006
FAILED: Final = 1011
TAKEN_OVER: Final = 4000
"""Why a stream ends, in WebSocket's numbers; those from 4000 on are ours to give a meaning."""

MOST_AT_ONCE: Final = 64 * 1024
FLUSH_SECONDS: Final = 2.0


class HangUp(Exception):  # noqa: N818 - it is an end with a reason, and not always a failure
    """The end of a stream, with a reason worth telling."""

    def __init__(self, code: int, words: str = "") -> None:
        super().__init__(words or f"the stream ended with code {code}")
        self.code = code
        self.words = words


class Duplex(Protocol):
    """A two-way stream; one reader and one writer at a time."""

    async def read(self) -> bytes:
        """The next bytes, as soon as there are any; none at the end. HangUp or OSError where it ends otherwise."""

    async def write(self, data: bytes) -> None:
        """Send bytes; takes as long as the other side is slow. HangUp or OSError if it is gone."""

    async def close(self) -> None:
        """
        Let go of it, once all that was written is sent or that takes too long.

        Ends a read under way, never fails, and may be called again.
        """


class SocketStream:
    """A stream over a socket, as asyncio opens them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """The next bytes; none at the end."""
        return await self._reader.read(MOST_AT_ONCE)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


async def open_unix(path: str) -> SocketStream:
    """Connect to a socket in the file system; OSError if nobody listens there."""
    return SocketStream(*await asyncio.open_unix_connection(path))


async def open_tcp(host: str, port: int) -> SocketStream:
    """Connect to a port; OSError if nobody listens there."""
    return SocketStream(*await asyncio.open_connection(host, port))
