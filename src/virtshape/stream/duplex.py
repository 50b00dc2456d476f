"""Two-way byte streams: the common interface of serial consoles, VNC, forwarded ports and WebSockets."""

import asyncio
import socket
from typing import Final, Protocol

# WebSocket close codes: why a stream ended.
NORMAL: Final = 1000
GOING_AWAY: Final = 1001
ABNORMAL_CLOSURE: Final = 1006
FAILED: Final = 1011
TAKEN_OVER: Final = 4000
"""Close code for a client whose stream another client took over; codes from 4000 are application-defined."""

MAX_AT_ONCE: Final = 64 * 1024
FLUSH_SECONDS: Final = 2.0


class StreamClosed(Exception):  # noqa: N818 - the end of a stream is not always an error
    """Raised when a stream has ended, with the close code and the reason."""

    def __init__(self, code: int, reason: str = "") -> None:
        super().__init__(reason or f"the stream ended with code {code}")
        self.code = code
        self.reason = reason


class Duplex(Protocol):
    """A two-way stream, which supports one reader and one writer at a time."""

    async def read(self) -> bytes:
        """Return the next bytes, or b"" at the end; raise StreamClosed or OSError if the end was not normal."""

    async def write(self, data: bytes) -> None:
        """Send bytes and wait while the other side is slow; raise StreamClosed or OSError if the stream is closed."""

    async def close(self) -> None:
        """
        Close the stream after sending buffered data, with a time limit.

        Closing ends a pending read and never raises an exception; `close` may be called again.
        """


class SocketStream:
    """A stream over an asyncio socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """Return the next bytes, or b"" at the end."""
        return await self._reader.read(MAX_AT_ONCE)

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """Close the socket."""
        self._writer.close()
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


async def open_unix(path: str) -> SocketStream:
    """Connect to a Unix socket; raise OSError if that fails."""
    return SocketStream(*await asyncio.open_unix_connection(path))


async def wrap_socket(connected: socket.socket) -> SocketStream:
    """Make a stream from a connected socket."""
    return SocketStream(*await asyncio.open_connection(sock=connected))
