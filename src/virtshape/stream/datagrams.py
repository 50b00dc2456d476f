"""
UDP as a stream of messages: each read is one datagram, each write another.

What comes faster than it is read is lost, as UDP allows.
"""

import asyncio
from typing import Final

from virtshape.stream.duplex import BROKEN_OFF, HangUp

MOST_UNREAD: Final = 256


class DatagramStream(asyncio.DatagramProtocol):
    """Datagrams to and from one address."""

    def __init__(self) -> None:
        self._unread: asyncio.Queue[bytes] = asyncio.Queue()
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]  # it is one

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002 - there is only one
        """Take a datagram, if there is room for it; an empty one would be taken for the end."""
        if data and self._unread.qsize() < MOST_UNREAD:
            self._unread.put_nowait(data)

    def error_received(self, exc: Exception) -> None:
        """Pass over what the network says of a single datagram."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """End a read under way."""
        self._lost = True
        self._unread.put_nowait(b"")

    async def read(self) -> bytes:
        """The next datagram; none at the end."""
        return b"" if self._lost and self._unread.empty() else await self._unread.get()

    async def write(self, data: bytes) -> None:
        """Send a datagram."""
        if self._lost or self._transport.is_closing():
            raise HangUp(BROKEN_OFF, "the port is closed")
        self._transport.sendto(data)

    async def close(self) -> None:
        """Send and take no more."""
        self._transport.close()


async def open_udp(host: str, port: int) -> DatagramStream:
    """Datagrams to and from a port; whether somebody listens there cannot be known."""
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_datagram_endpoint(DatagramStream, remote_addr=(host, port))
    return stream
