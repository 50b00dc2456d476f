"""
One HTTP/1.1 connection to a server, for one request at a time, parsed by httptools.

A response is read whole or streamed in chunks, with backpressure. After an upgrade, another protocol takes over the
connection.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, Final

import httptools

from virtshape.client.errors import UnreachableError

MAX_UNREAD: Final = 4 * 1024 * 1024


class Connection(asyncio.Protocol):
    """One connection; `reusable` once a response is complete and both sides keep the connection alive."""

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
        """Send a request and wait for the head of the response."""
        self.reusable = False
        self._begin()
        if self._problem is not None:
            raise UnreachableError(str(self._problem)) from self._problem
        self._transport.write(data)
        while not self._has_head:
            await self._wait()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the response body as it arrives."""
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
        """Return the whole response body."""
        return b"".join([chunk async for chunk in self.chunks()])

    def switch_protocol(self, successor: asyncio.Protocol) -> None:
        """Hand the connection and any buffered data over to another protocol; raise if it is already lost."""
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
        """Close without waiting for the server's TLS shutdown, because the process may exit right after."""
        self.reusable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport: Any = transport

    def connection_lost(self, error: Exception | None) -> None:
        """End the response; fail it if it is incomplete."""
        self.reusable = False
        if self._has_head and not self._complete and self._lasts_until_closed():
            self._complete = True
        self._problem = self._problem or error or ConnectionResetError("the server closed the connection")
        self._changed.set()

    def _lasts_until_closed(self) -> bool:
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    def data_received(self, data: bytes) -> None:
        """Parse received data."""
        self.answered = True
        if self._rest is not None:
            self._rest += data
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._rest = bytearray(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            self._problem = ValueError(f"the response is not valid HTTP: {error}")
            self._transport.close()
            self._changed.set()
        if self._unread_size > MAX_UNREAD:
            self._transport.pause_reading()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a response header."""
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        self.headers[key] = f"{self.headers[key]}\n{text}" if key in self.headers else text

    def on_headers_complete(self) -> None:
        """Mark the response head as complete."""
        self.status = self._parser.get_status_code()
        self._has_head = True
        self._changed.set()

    def on_body(self, body: bytes) -> None:
        """Queue a chunk of the body."""
        self._unread.append(body)
        self._unread_size += len(body)
        self._changed.set()

    def on_message_complete(self) -> None:
        """Mark the response as complete."""
        self._complete = True
        self.reusable = self._parser.should_keep_alive() and self._problem is None
        self._changed.set()
