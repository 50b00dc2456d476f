"""
HTTP/1.1 on asyncio: requests off the wire, answers onto it. Parsing is httptools', meaning is the handler's.

Answers keep the order of their requests, so clients may pipeline. A handler that has its answer at once returns it;
one that must wait returns an awaitable. A stream ends when either side goes away.
"""

import asyncio
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

import httptools

from virtshape.apiserver.message import LINE, PERSONAL, Request, Response, Stream

LARGEST_BODY: Final = 3 * 1024 * 1024
LARGEST_HEAD: Final = 64 * 1024
MOST_PIPELINED: Final = 64
IDLE_SECONDS: Final = 180.0
HEAD_SECONDS: Final = 30.0

Answer = Response | Stream
Handler = Callable[[Request], Answer | Awaitable[Answer]]

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_log = logging.getLogger(__name__)


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, handler: Handler, connections: "set[Connection]") -> None:
        self._handler = handler
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._closing = False
        self._stopping = False
        self._streaming = False
        self._busy = False
        self._begin()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with what the transport knows of the client."""
        self._transport: Any = transport
        peer = transport.get_extra_info("peername")
        self._peer = peer[0] if peer else ""
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        self._certificate = tls.getpeercert() if tls is not None else None
        self._connections.add(self)
        self._watch_clock(HEAD_SECONDS)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """End whatever was under way for this client."""
        self._connections.discard(self)
        self._closing = True
        self._writable.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(501, "protocol upgrades are not supported")
        except httptools.HttpParserError as error:
            self._refuse(400, str(error))

    def pause_writing(self) -> None:
        """Note that the client is slow to read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Note that it has caught up."""
        self._writable.set()

    def _begin(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._head_size = 0
        self._body: list[bytes] = []
        self._body_size = 0

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of its target."""
        self._target += url
        self._grow_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one of its headers; several of one name become a list."""
        self._grow_head(len(name) + len(value))
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in self._headers:
            text = f"{self._headers[key]}{LINE if key.startswith(PERSONAL) else ','}{text}"
        self._headers[key] = text

    def _grow_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > LARGEST_HEAD:
            self._refuse(431, "the request's head is too large")

    def on_headers_complete(self) -> None:
        """Tell a client that waits to be told to send the body."""
        if self._headers.get("expect", "").lower() == "100-continue" and not self._closing:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Take a piece of its body."""
        self._body_size += len(body)
        if self._body_size > LARGEST_BODY:
            self._refuse(413, f"Request entity too large: limit is {LARGEST_BODY}")
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        """Answer the request, or let it wait for its turn."""
        if self._closing:
            return
        request = Request(
            self._parser.get_method().decode("ascii"),
            self._target.decode("latin-1"),
            self._headers,
            b"".join(self._body),
            peer=self._peer,
            certificate=self._certificate,
        )
        self._waiting.append((request, self._parser.should_keep_alive()))
        if len(self._waiting) >= MOST_PIPELINED:
            self._transport.pause_reading()
        if not self._busy:
            self._serve_next()

    def _serve_next(self) -> None:
        """Answer requests for as long as the answers are there at once."""
        while self._waiting and not self._closing:
            self._busy = True
            request, keep_alive = self._waiting.popleft()
            try:
                answer = self._handler(request)
            except Exception:  # noqa: BLE001 - nobody else can answer any more
                _log.exception("%s %s failed", request.method, request.path)
                answer = Response(500, b"internal error\n", "text/plain; charset=utf-8")
            if isinstance(answer, Response):
                self._send(request, answer, keep_alive)
            else:
                self._task = self._loop.create_task(self._finish(request, answer, keep_alive))
                return
        self._busy = False
        if not self._closing:
            self._transport.resume_reading()
            self._watch_clock(IDLE_SECONDS)

    async def _finish(self, request: Request, answer: Stream | Awaitable[Answer], keep_alive: bool) -> None:
        try:
            if not isinstance(answer, Stream):
                found = await answer
                if isinstance(found, Response):
                    self._send(request, found, keep_alive)
                    return
                answer = found
            await self._stream(request, answer)
        except Exception:  # noqa: BLE001 - nobody else can answer any more
            _log.exception("%s %s failed", request.method, request.path)
            self._send(request, Response(500, b"internal error\n", "text/plain; charset=utf-8"), keep_alive=False)
        finally:
            self._task = None
            self._busy = False
        if self._stopping:
            self.close()
        elif not self._closing:
            self._loop.call_soon(self._serve_next)

    def _send(self, request: Request, response: Response, keep_alive: bool) -> None:
        if self._closing:
            return
        head = [
            _STATUS_LINES[response.status],
            f"content-type: {response.content_type}\r\n" if response.content_type else "",
            f"content-length: {len(response.body)}\r\n",
        ]
        head += [f"{name}: {value}\r\n" for name, value in response.headers]
        head.append("\r\n" if keep_alive else "connection: close\r\n\r\n")
        body = b"" if request.method == "HEAD" else response.body
        self._transport.write("".join(head).encode("latin-1") + body)
        if not keep_alive:
            self.close()

    async def _stream(self, request: Request, stream: Stream) -> None:
        head = [_STATUS_LINES[stream.status], f"content-type: {stream.content_type}\r\n"]
        head += [f"{name}: {value}\r\n" for name, value in stream.headers]
        self._transport.write("".join([*head, "transfer-encoding: chunked\r\n\r\n"]).encode("latin-1"))
        self._stop_clock()
        self._streaming = True
        try:
            if request.method != "HEAD":
                async for chunk in stream.chunks:
                    self._transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                    if not self._writable.is_set():
                        await self._writable.wait()
        finally:
            self._streaming = False
            if not self._closing:
                self._transport.write(b"0\r\n\r\n")
            with contextlib.suppress(Exception):
                await stream.chunks.aclose()  # type: ignore[attr-defined]  # every stream here is a generator

    def _refuse(self, status: int, message: str) -> None:
        """Answer what cannot be read as a request, and hang up."""
        if not self._closing:
            self._send(
                Request("GET", "/", {}), Response(status, f"{message}\n".encode(), "text/plain; charset=utf-8"), False
            )

    def stop(self) -> None:
        """End a stream or an idle connection now, any other after the answer it is at."""
        self._stopping = True
        self._waiting.clear()
        if self._task is None:
            self.close()
        elif self._streaming:
            self._task.cancel()
            self._task.add_done_callback(lambda _: self.close())

    def close(self) -> None:
        """Hang up when all written is sent."""
        self._closing = True
        self._stop_clock()
        self._transport.close()

    def _watch_clock(self, seconds: float) -> None:
        self._stop_clock()
        self._timer = self._loop.call_later(seconds, self._time_out)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        if not self._busy:
            self.close()


class Listener:
    """A listening socket and the connections that came through it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port, which the system chooses for 0."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._handler, self._connections), host, port, ssl=tls, reuse_address=True, backlog=1024
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, seconds: float = 10.0) -> None:
        """Listen no more, let what is in flight finish, end streams, hang up."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.stop()
        deadline = asyncio.get_running_loop().time() + seconds
        while self._connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self._connections):
            connection.close()
