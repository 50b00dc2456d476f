"""
One HTTP/1.1 connection to a server, for one request at a time. Parsing is httptools'.

An answer is taken whole, or chunk by chunk for as long as it goes on; whoever reads slowly slows the sender down. One
that changes the protocol leaves the connection to others.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final

import httptools

from virtshape.client.errors import UnreachableError

MOST_UNREAD: Final = 4 * 1024 * 1024


class Connection(asyncio.Protocol):
    """One connection; `reusable` once an answer is complete and both sides mean to go on."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._changed = asyncio.Event()
        self._problem: Exception | None = None
        self._rest: bytearray | None = None
        self.reusable = False
        self.idle_since = 0.0
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.answered = False
        self._has_head = False
        self._complete = False
        self._unread: deque[bytes] = deque()
        self._unread_size = 0

    async def send(self, data: bytes) -> None:
        """Send a request; returns when the head of the answer is there."""
        self.reusable = False
        self._begin()
        if self._problem is not None:
            raise UnreachableError(str(self._problem)) from self._problem
        self._transport.write(data)
        while not self._has_head:
            await self._wait()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body of the answer, as it comes."""
        while True:
            while self._unread:
                chunk = self._unread.popleft()
                self._unread_size -= len(chunk)
                yield chunk
            if self._complete:
                return
            self._transport.resume_reading()
            await self._wait()

    async def read(self) -> bytes:
        """The body of the answer, whole."""
        return b"".join([chunk async for chunk in self.chunks()])

    def switch_protocol(self, successor: asyncio.Protocol) -> None:
        """Leave the connection to another protocol, and what came for it too; raises if it is lost already."""
        if self._problem is not None:
            raise UnreachableError(str(self._problem)) from self._problem
        self._transport.set_protocol(successor)
        successor.connection_made(self._transport)
        self._transport.resume_reading()
        if self._rest:
            successor.data_received(bytes(self._rest))

    async def _wait(self) -> None:
        if self._problem is not None:
            raise UnreachableError(str(self._problem)) from self._problem
        self._changed.clear()
        await self._changed.wait()

    def close(self) -> None:
        """Hang up, without waiting for the server to take leave too: a process may end right after."""
        self.reusable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport: Any = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Note that nothing more will come."""
        self.reusable = False
        if self._has_head and not self._complete and self._lasts_until_closed():
            self._complete = True
        self._problem = self._problem or error or ConnectionResetError("the server closed the connection")
        self._changed.set()

    def _lasts_until_closed(self) -> bool:
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self.answered = True
        if self._rest is not None:
            self._rest += data
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._rest = bytearray(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._problem = ValueError(f"the answer is no HTTP: {error}")
            self._transport.close()
            self._changed.set()
        if self._unread_size > MOST_UNREAD:
            self._transport.pause_reading()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one of the answer's headers."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}\n{text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Note that the head is there."""
        self.status = self._parser.get_status_code()
        self._has_head = True
        self._changed.set()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._unread.append(body)
        self._unread_size += len(body)
        self._changed.set()

    def on_message_complete(self) -> None:
        """Note that the answer is complete."""
        self._complete = True
        self.reusable = self._parser.should_keep_alive() and self._problem is None
        self._changed.set()
