"""
UDP as a stream: each read returns one datagram and each write sends one.

Datagrams that arrive while the buffer is full are dropped.
"""

import asyncio
import socket
from typing import Final

from virtshape.stream.duplex import ABNORMAL_CLOSURE, StreamClosed

MAX_UNREAD: Final = 256


class DatagramStream(asyncio.DatagramProtocol):
    """Datagrams to and from one address."""

    def __init__(self) -> None:
        self._unread: asyncio.Queue[bytes] = asyncio.Queue()
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; asyncio calls this method when the socket is ready."""
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]  # a datagram endpoint has this transport

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 - the socket is connected to one address
        """Buffer a datagram if there is room; drop empty datagrams, because an empty read means the end."""
        if data and self._unread.qsize() < MAX_UNREAD:
            self._unread.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        """Ignore an error that concerns a single datagram."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """End a pending read."""
        self._lost = True
        self._unread.put_nowait(b"")

    async def read(self) -> bytes:
        """Return the next datagram, or b"" at the end."""
        return b"" if self._lost and self._unread.empty() else await self._unread.get()

    async def write(self, data: bytes) -> None:
        """Send a datagram; raise StreamClosed if the socket is closed."""
        if self._lost or self._transport.is_closing():
            raise StreamClosed(ABNORMAL_CLOSURE, "the port is closed")
        self._transport.sendto(data)

    async def close(self) -> None:
        """Close the socket."""
        self._transport.close()


async def wrap_datagrams(connected: socket.socket) -> DatagramStream:
    """Make a stream from a connected UDP socket."""
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_datagram_endpoint(DatagramStream, sock=connected)
    return stream
