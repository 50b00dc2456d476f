"""
One HTTP/1.1 connection to a server, for one request at a time, parsed by httptools.

Request and response bodies are sent and read whole or in chunks, with backpressure. After an upgrade, another protocol
takes over the connection.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, NamedTuple

import httptools

from virtshape.api.model import JsonObject
from virtshape.client.errors import UnreachableError
from virtshape.client.tunnel import open_tunnel

MAX_UNREAD: Final = 4 * 1024 * 1024
_SWITCHING_PROTOCOLS: Final = 101


class Endpoint(NamedTuple):
    """
    Where to connect to: `url` appears in errors, and the certificate must be valid for `name`.

    Without a TLS context the connection is not encrypted; without a proxy it is direct.
    """

    url: str
    host: str
    port: int
    tls: ssl.SSLContext | None = None
    name: str = ""
    proxy: str = ""


async def open_connection(endpoint: Endpoint, seconds: float) -> "Connection":
    """Connect to a server; raise UnreachableError if that fails or takes too long."""
    try:
        async with asyncio.timeout(seconds):
            transport, connection = await asyncio.get_running_loop().create_connection(
                Connection,
                **await _get_route(endpoint),
                ssl=endpoint.tls,
                server_hostname=(endpoint.name or endpoint.host) if endpoint.tls is not None else None,
            )
    except TimeoutError:
        raise UnreachableError(f"{endpoint.url} did not respond within {seconds:g} seconds") from None
    except OSError as error:  # includes TLS errors, which are OSErrors
        raise UnreachableError(f"cannot connect to {endpoint.url}: {error}") from error
    # Detect an unreachable server even on watches that are idle for hours.
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection


def format_head(method: str, target: str, host: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request."""
    lines = [f"{method} {target} HTTP/1.1", f"host: {host}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _get_route(endpoint: Endpoint) -> JsonObject:
    if endpoint.proxy:
        return {"sock": await open_tunnel(endpoint.proxy, endpoint.host, endpoint.port)}
    return {"host": endpoint.host, "port": endpoint.port}


class Connection(asyncio.Protocol):
    """One connection; `reusable` is True after a complete response if both sides keep the connection open."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
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
        self.begin(data)
        await self.wait_for_head()

    def begin(self, data: bytes) -> None:
        """Start a request, whose body may follow with `write`."""
        self.reusable = False
        self._begin()
        self._require_connected()
        self._transport.write(data)

    async def write(self, data: bytes) -> None:
        """Send a chunk of the request body; wait while too much data is unsent."""
        self._require_connected()
        self._transport.write(data)
        await self._writable.wait()
        self._require_connected()

    async def wait_for_head(self) -> None:
        """Wait for the head of the response."""
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
        """Hand the connection and any buffered data over to another protocol; raise UnreachableError if it was lost."""
        self._require_connected()
        self._transport.set_protocol(successor)
        successor.connection_made(self._transport)
        self._transport.resume_reading()
        if self._rest:
            successor.data_received(bytes(self._rest))

    async def _wait(self) -> None:
        self._require_connected()
        self._changed.clear()
        await self._changed.wait()

    def _require_connected(self) -> None:
        if self._problem is not None:
            raise UnreachableError(str(self._problem)) from self._problem

    def close(self) -> None:
        """Close the connection without waiting for the server's TLS shutdown, because the process may exit soon."""
        self.reusable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; asyncio calls this method when the connection is made."""
        self._transport: Any = transport

    def connection_lost(self, error: Exception | None) -> None:
        """End the response when the connection is lost; reading an incomplete response then fails."""
        self.reusable = False
        if self._has_head and not self._complete and self._lasts_until_closed():
            self._complete = True
        self._problem = self._problem or error or ConnectionResetError("the server closed the connection")
        self._changed.set()
        self._writable.set()

    def pause_writing(self) -> None:
        """Pause writing until the server has caught up."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Resume writing, because the server has caught up."""
        self._writable.set()

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
        """Mark the response head as complete, unless it is informational (1xx): the final response follows it."""
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= 200 or self.status == _SWITCHING_PROTOCOLS
        if self._has_head:
            self._changed.set()
        else:
            self.headers = {}

    def on_body(self, body: bytes) -> None:
        """Queue a chunk of the body."""
        self._unread.append(body)
        self._unread_size += len(body)
        self._changed.set()

    def on_message_complete(self) -> None:
        """Mark the response as complete."""
        if not self._has_head:
            return
        self._complete = True
        self.reusable = self._parser.should_keep_alive() and self._problem is None
        self._changed.set()
