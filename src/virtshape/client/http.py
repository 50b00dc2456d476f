"""
HTTP/1.1 transport with keep-alive connections.

A read that gets no response on a reused connection is repeated once. A request that is rejected with 401 is repeated
once with new credentials. Requests beyond the connection limit wait. Streams and WebSockets use separate connections.
"""

import asyncio
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace
from websockets.protocol import Side

from virtshape.client.access import Access, Identity, build_context
from virtshape.client.connection import Connection, Endpoint, format_head, open_connection
from virtshape.client.errors import ConfigError, UnreachableError, parse_status_error
from virtshape.client.requestlog import Exchange, RequestLogger
from virtshape.client.transport import Call, Reply
from virtshape.stream.handshake import PLAIN, accept_key, build_upgrade_headers, make_key
from virtshape.stream.websocket import WebSocket

CONNECT_SECONDS: Final = 30.0
"""client-go has the same limit."""
CALL_SECONDS: Final = 60.0
IDLE_SECONDS: Final = 90.0
MAX_AT_ONCE: Final = 32


class HttpTransport:
    """Sends requests to one server."""

    def __init__(
        self,
        access: Access,
        *,
        call_seconds: float | None = CALL_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
        log_request: RequestLogger | None = None,
    ) -> None:
        url = urlsplit(access.server)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigError(f'invalid server URL "{access.server}": use a form such as https://127.0.0.1:6443')
        self._access = access
        self._secure = url.scheme == "https"
        self._host = url.hostname
        self._port = url.port or (443 if self._secure else 80)
        self._authority = url.netloc.rpartition("@")[2]
        self._prefix = url.path.rstrip("/")
        self._call_seconds = call_seconds
        self._connect_seconds = connect_seconds
        self._log_request = log_request
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(MAX_AT_ONCE)
        self._tls: tuple[Identity | None, ssl.SSLContext] | None = None

    async def call(self, call: Call) -> Reply:
        """Return the response to a request; raise UnreachableError if there is none."""
        reply = await self._exchange(call)
        if reply.status == 401 and self._access.credentials.invalidate():
            reply = await self._exchange(call)
        return reply

    @asynccontextmanager
    async def stream(self, call: Call, *, idle_timeout: float | None = None) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a streaming response as an iterator of lines; raise StatusError if the server rejects the request."""
        connection = await self._open_stream(call)
        if connection.status == 401 and self._access.credentials.invalidate():
            connection.close()
            connection = await self._open_stream(call)
        try:
            if connection.status >= 400:
                async with self._limit(self._call_seconds):
                    raise parse_status_error(await connection.read(), connection.status)
            yield self._read_lines(connection, idle_timeout)
        finally:
            connection.close()

    async def open_socket(self, call: Call, *, join_fragments: bool = False, protocol: str = PLAIN) -> WebSocket:
        """Open a binary WebSocket; raise StatusError if the server rejects the request."""
        key = make_key()
        upgrade = replace(call, headers={**call.headers, **build_upgrade_headers(key, protocol)})
        connection = await self._open_stream(upgrade)
        if connection.status == 401 and self._access.credentials.invalidate():
            connection.close()
            connection = await self._open_stream(upgrade)
        try:
            await self._require_handshake(connection, key)
            successor = WebSocketProtocol(join_fragments=join_fragments)
            connection.switch_protocol(successor)
        except BaseException:
            connection.close()
            raise
        return successor.socket

    async def close(self) -> None:
        """Close all idle connections."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # let the event loop close the transports

    async def _exchange(self, call: Call) -> Reply:
        data = await self._write(call, (("accept-encoding", "gzip"),))
        async with self._room:
            with self._logged(call) as answered:
                reply = await self._send(call, data)
                answered.append(reply)
                return reply

    async def _send(self, call: Call, data: bytes) -> Reply:
        connection = self._take_idle()
        if connection is not None:
            try:
                return await self._send_over(connection, data)
            except UnreachableError:
                # The server may have closed an idle connection; a read without a response is safe to repeat.
                if connection.answered or call.method != "GET":
                    raise
        return await self._send_over(await self._connect(), data)

    async def _send_over(self, connection: Connection, data: bytes) -> Reply:
        try:
            async with self._limit(self._call_seconds):
                await connection.send(data)
                body = await connection.read()
        except BaseException:
            connection.close()
            raise
        reply = Reply(connection.status, connection.headers, _unpack(body, connection.headers))
        self._put_back(connection)
        return reply

    async def _open_stream(self, call: Call) -> Connection:
        data = await self._write(call)
        with self._logged(call) as answered:
            connection = await self._connect()
            try:
                async with self._limit(self._call_seconds):
                    await connection.send(data)
            except BaseException:
                connection.close()
                raise
            answered.append(Reply(connection.status, connection.headers, b""))
        return connection

    @contextmanager
    def _logged(self, call: Call) -> Iterator[list[Reply]]:
        """Log a request when the `with` block ends; the block appends the response to the list that is yielded."""
        answered: list[Reply] = []
        began = time.monotonic()
        try:
            yield answered
        finally:
            if self._log_request is not None:
                reply = answered[0] if answered else Reply(0, {}, b"")
                url = f"{'https' if self._secure else 'http'}://{self._authority}{self._prefix}{call.target}"
                self._log_request(
                    Exchange(call.method, url, reply.status, time.monotonic() - began, call.body, reply.body)
                )

    async def _require_handshake(self, connection: Connection, key: str) -> None:
        if connection.status != 101:
            async with self._limit(self._call_seconds):
                raise parse_status_error(await connection.read(), connection.status)
        if connection.headers.get("sec-websocket-accept") != accept_key(key):
            raise UnreachableError(f"{self._access.server} did not accept the WebSocket handshake")

    async def _read_lines(self, connection: Connection, idle_timeout: float | None) -> AsyncIterator[bytes]:
        chunks = aiter(connection.chunks())
        rest = b""
        while True:
            async with self._limit(idle_timeout):
                chunk = await anext(chunks, None)
            if chunk is None:
                break
            *lines, rest = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
            for line in lines:
                if line:
                    yield line
        if rest.strip():
            yield rest

    async def _write(self, call: Call, more: tuple[tuple[str, str], ...] = ()) -> bytes:
        credentials = await self._access.credentials.fetch()
        headers = [*call.headers.items(), *more, *credentials.headers(), *self._access.acting_as.headers()]
        if call.body:
            headers.append(("content-length", str(len(call.body))))
        return format_head(call.method, f"{self._prefix}{call.target}", self._authority, headers) + call.body

    def _take_idle(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and now - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    def _put_back(self, connection: Connection) -> None:
        if not connection.reusable:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    async def _connect(self) -> Connection:
        access, tls = self._access, await self._get_tls() if self._secure else None
        endpoint = Endpoint(access.server, self._host, self._port, tls, access.server_name, access.proxy)
        return await open_connection(endpoint, self._connect_seconds)

    async def _get_tls(self) -> ssl.SSLContext:
        identity = (await self._access.credentials.fetch()).identity
        if self._tls is None or self._tls[0] != identity:
            for connection in self._idle:  # close idle connections, because they use the previous certificate
                connection.close()
            self._idle.clear()
            self._tls = identity, build_context(self._access, identity)
        return self._tls[1]

    @asynccontextmanager
    async def _limit(self, seconds: float | None) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise UnreachableError(f"{self._access.server} did not respond within {seconds:g} seconds") from None


def _unpack(body: bytes, headers: dict[str, str]) -> bytes:
    if headers.get("content-encoding") != "gzip":
        return body
    try:
        return zlib.decompress(body, 16 + zlib.MAX_WBITS)
    except zlib.error as error:
        raise UnreachableError(f"the response cannot be decompressed: {error}") from error


class WebSocketProtocol(asyncio.Protocol):
    """Client side of an upgraded connection: passes data to a WebSocket, which exists once the connection is made."""

    socket: WebSocket

    def __init__(self, *, join_fragments: bool) -> None:
        self._join_fragments = join_fragments

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Create the WebSocket."""
        self.socket = WebSocket(transport, Side.CLIENT, join_fragments=self._join_fragments)  # type: ignore[arg-type]  # always TCP

    def data_received(self, data: bytes) -> None:
        """Pass received data to the WebSocket."""
        self.socket.receive(data)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Mark the WebSocket as disconnected."""
        self.socket.lose()

    def pause_writing(self) -> None:
        """Pause writing until the server has caught up."""
        self.socket.pause_writing()

    def resume_writing(self) -> None:
        """Resume writing, because the server has caught up."""
        self.socket.resume_writing()
