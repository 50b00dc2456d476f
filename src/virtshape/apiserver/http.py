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
from typing import Any, Final, NamedTuple

import httptools

from virtshape.api.status import StatusError
from virtshape.apiserver.answers import answer_error
from virtshape.apiserver.limits import LARGEST_BODY, check_size
from virtshape.apiserver.message import LINE, PERSONAL, Request, Response, Stream

LARGEST_HEAD: Final = 64 * 1024
MOST_PIPELINED: Final = 64
IDLE_SECONDS: Final = 180.0
HEAD_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
FAREWELL_SECONDS: Final = 1.0
"""How long a client has to say goodbye in TLS; one that keeps an idle connection never does."""

Answer = Response | Stream
Handler = Callable[[Request], Answer | Awaitable[Answer]]

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_log = logging.getLogger(__name__)


class _Turn(NamedTuple):
    """A request that waits for its answer, or for the refusal that it got before it was read whole."""

    request: Request
    keep_alive: bool
    refusal: Response | None = None


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, handler: Handler, connections: "set[Connection]") -> None:
        self._handler = handler
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[_Turn] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._closing = False
        self._stopping = False
        self._streaming = False
        self._busy = False
        self._refused = False
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
        """Take in what came; after a refusal, only to throw it away."""
        if self._refused:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(StatusError(501, "NotImplemented", "protocol upgrades are not supported"))
        except httptools.HttpParserError as error:
            self._refuse(StatusError(400, "BadRequest", f"this is not HTTP: {error}"))

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
            self._refuse(StatusError(431, "BadRequest", "the request's head is too large"))

    def on_headers_complete(self) -> None:
        """Refuse a body that says it is too large; tell a client that waits to be told to send its body."""
        length = self._headers.get("content-length", "")
        self._check_size(int(length) if length.isdecimal() else 0)
        if self._headers.get("expect", "").lower() == "100-continue" and not self._closing and not self._refused:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Take a piece of its body."""
        self._body_size += len(body)
        self._check_size(self._body_size)
        if not self._refused:
            self._body.append(body)

    def _check_size(self, size: int) -> None:
        try:
            check_size(size, LARGEST_BODY)
        except StatusError as error:
            self._refuse(error)

    def on_message_complete(self) -> None:
        """Answer the request, or let it wait for its turn."""
        if self._closing or self._refused:
            return
        request = Request(
            self._parser.get_method().decode("ascii"),
            self._target.decode("latin-1"),
            self._headers,
            b"".join(self._body),
            peer=self._peer,
            certificate=self._certificate,
        )
        self._enqueue(_Turn(request, self._parser.should_keep_alive()))

    def _enqueue(self, turn: _Turn) -> None:
        self._waiting.append(turn)
        if len(self._waiting) >= MOST_PIPELINED:
            self._transport.pause_reading()
        if not self._busy:
            self._serve_next()

    def _serve_next(self) -> None:
        """Answer requests for as long as the answers are there at once."""
        while self._waiting and not self._closing:
            self._busy = True
            request, keep_alive, refusal = self._waiting.popleft()
            try:
                answer = refusal or self._handler(request)
            except Exception:  # noqa: BLE001 - nobody else can answer any more
                _log.exception("%s %s failed", request.method, request.path)
                answer = _answer_failure()
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
            found = answer if isinstance(answer, Stream) else await answer
            if isinstance(found, Response):
                self._send(request, found, keep_alive and not self._stopping)
            else:
                await self._stream(request, found)
        except Exception:  # noqa: BLE001 - nobody else can answer any more
            _log.exception("%s %s failed", request.method, request.path)
            self._send(request, _answer_failure(), keep_alive=False)
        finally:
            self._task = None
            self._busy = False
        if self._stopping:
            self.close()
        elif not self._closing:
            self._serve_next()

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
        if self._refused and not self._waiting:
            self._linger()
        elif not keep_alive:
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

    def _refuse(self, error: StatusError) -> None:
        """Answer what cannot be read as a request, in its turn, and read no more."""
        if not self._closing and not self._refused:
            self._refused = True
            self._enqueue(_Turn(Request("GET", "/", {}), keep_alive=False, refusal=answer_error(error)))

    def _linger(self) -> None:
        """Hang up once the client could read the refusal: one that is still sending might not see it otherwise."""
        self._closing = True
        self._stop_clock()
        self._timer = self._loop.call_later(LINGER_SECONDS, self._transport.close)

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


def _answer_failure() -> Response:
    return answer_error(StatusError(500, "InternalError", "Internal error occurred: the server's log says which"))


class Listener:
    """A listening socket and the connections that came through it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port, which the system chooses for 0."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._handler, self.connections),
            host,
            port,
            ssl=tls,
            ssl_shutdown_timeout=FAREWELL_SECONDS if tls is not None else None,
            reuse_address=True,
            backlog=1024,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, seconds: float = 10.0) -> None:
        """Listen no more, let what is in flight finish, end streams, hang up."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.stop()
        deadline = asyncio.get_running_loop().time() + seconds
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.close()
