"""
HTTP/1.1 on asyncio: connections, and the answers onto them. What is answered is the handler's business.

Answers keep the order of their requests, so clients may pipeline. A handler that has its answer at once returns it;
one that must wait returns an awaitable. A stream ends when either side goes away, and so does a WebSocket.
"""

import asyncio
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from websockets.protocol import Side

from virtshape.api.status import StatusError
from virtshape.apiserver.answers import answer_error
from virtshape.apiserver.limits import LARGEST_BODY
from virtshape.apiserver.message import Request, Response, Stream, Upgrade
from virtshape.apiserver.parsing import Client, RequestReader
from virtshape.apiserver.upgrading import carry
from virtshape.stream.websocket import WebSocket

MOST_PIPELINED: Final = 64
SLICE: Final = 64 * 1024
IDLE_SECONDS: Final = 180.0
HEAD_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 2.0
FAREWELL_SECONDS: Final = 1.0
"""How long a client has to say goodbye in TLS; one that keeps an idle connection never does."""

Answer = Response | Stream | Upgrade
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

    def __init__(self, handler: Handler, connections: "set[Connection]", largest_body: int = LARGEST_BODY) -> None:
        self._handler = handler
        self._connections = connections
        self._largest_body = largest_body
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Turn] = deque()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._writable = asyncio.Event()
        self._writable.set()
        self._closing = False
        self._stopping = False
        self._streaming = False
        self._busy = False
        self._refused = False
        self._socket: WebSocket | None = None
        self._current: Request | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, with what the transport knows of the client."""
        self._transport: Any = transport
        peer = transport.get_extra_info("peername")
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        client = Client(peer[0] if peer else "", tls.getpeercert() if tls is not None else None)
        self._reader = RequestReader(client, self._take, self._refuse, self._invite, self._throttle, self._largest_body)
        self._connections.add(self)
        self._watch_clock(HEAD_SECONDS)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """End whatever was under way for this client."""
        self._connections.discard(self)
        self._closing = True
        self._writable.set()
        self._stop_clock()
        if self._socket is not None:
            self._socket.lose()
        elif self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        if self._socket is not None:
            self._socket.receive(data)
        else:
            self._reader.feed(data)

    def pause_writing(self) -> None:
        """Note that the client is slow to read."""
        self._writable.clear()
        if self._socket is not None:
            self._socket.pause_writing()

    def resume_writing(self) -> None:
        """Note that it has caught up."""
        self._writable.set()
        if self._socket is not None:
            self._socket.resume_writing()

    def _take(self, request: Request, keep_alive: bool) -> None:
        """Answer the request, or let it wait for its turn."""
        if not self._closing:
            self._enqueue(_Turn(request, keep_alive))

    def _invite(self) -> None:
        if not self._closing:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _throttle(self, on: bool) -> None:
        if not self._closing:
            (self._transport.pause_reading if on else self._transport.resume_reading)()

    def _enqueue(self, turn: _Turn) -> None:
        self._waiting.append(turn)
        if len(self._waiting) >= MOST_PIPELINED or self._reader.is_holding():
            self._transport.pause_reading()
        if not self._busy:
            self._serve_next()

    def _serve_next(self) -> None:
        """Answer requests for as long as the answers are there at once."""
        self._busy = True
        while not self._closing and self._has_next():
            request, keep_alive, refusal = self._waiting.popleft()
            try:
                answer = refusal or self._handler(request)
            except Exception:  # noqa: BLE001 - nobody else can answer any more
                _log.exception("%s %s failed", request.method, request.path)
                answer = _answer_failure()
            if isinstance(answer, Response):
                self._send(request, answer, keep_alive)
            else:
                self._current = request
                self._task = self._loop.create_task(self._finish(request, answer, keep_alive))
                return
        self._busy = False
        if not self._closing:
            self._transport.resume_reading()
            self._watch_clock(IDLE_SECONDS)

    def _has_next(self) -> bool:
        if not self._waiting:
            self._reader.release()
        return bool(self._waiting)

    async def _finish(self, request: Request, answer: Stream | Upgrade | Awaitable[Answer], keep_alive: bool) -> None:
        try:
            found = await answer if isinstance(answer, Awaitable) else answer
            if isinstance(found, Response):
                self._send(request, found, keep_alive and not self._stopping)
            elif isinstance(found, Upgrade):
                await self._switch(found)
            else:
                await self._stream(request, found)
        except Exception:  # noqa: BLE001 - nobody else can answer any more
            _log.exception("%s %s failed", request.method, request.path)
            self._send(request, _answer_failure(), keep_alive=False)
        finally:
            self._task = self._current = None
            self._busy = False
        if self._stopping:
            self.close()
        elif not self._closing:
            self._serve_next()

    def _send(self, request: Request, response: Response, keep_alive: bool) -> None:
        if self._closing:
            return
        keep_alive = keep_alive and not request.is_arriving
        head = [
            _STATUS_LINES[response.status],
            f"content-type: {response.content_type}\r\n" if response.content_type else "",
            f"content-length: {len(response.body)}\r\n",
        ]
        head += [f"{name}: {value}\r\n" for name, value in response.headers]
        head.append("\r\n" if keep_alive else "connection: close\r\n\r\n")
        body = b"" if request.method == "HEAD" else response.body
        self._write_whole("".join(head).encode("latin-1"), body)
        if request.incoming is not None and request.is_arriving:
            request.incoming.discard()
            self._linger()
        elif self._refused and not self._waiting:
            self._linger()
        elif not keep_alive:
            self.close()

    def _write_whole(self, head: bytes, body: bytes) -> None:
        """Write a large body a slice at a time, so that the client reads one while the next is encrypted."""
        self._transport.write(head + body[:SLICE])
        if len(body) > SLICE:
            rest = memoryview(body)
            for at in range(SLICE, len(body), SLICE):
                self._transport.write(rest[at : at + SLICE])

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

    async def _switch(self, upgrade: Upgrade) -> None:
        """Go on with a WebSocket, until it ends and the connection with it."""
        if self._closing or self._stopping:
            await upgrade.stream.close()
            return
        head = [_STATUS_LINES[upgrade.status], *(f"{name}: {value}\r\n" for name, value in upgrade.headers), "\r\n"]
        self._transport.write("".join(head).encode("latin-1"))
        self._stop_clock()
        self._socket = WebSocket(self._transport, Side.SERVER, whole_messages=upgrade.whole_messages)
        self._transport.resume_reading()
        self._socket.receive(self._reader.take_rest())
        try:
            await carry(self._socket, upgrade.stream)
        finally:
            self._closing = True

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
        """End a stream, an upload, a WebSocket or an idle connection now, any other after the answer it is at."""
        self._stopping = True
        self._waiting.clear()
        if self._task is None:
            self.close()
        elif self._streaming or self._socket is not None or (self._current is not None and self._current.is_arriving):
            self._task.cancel()
            self._task.add_done_callback(lambda _: self.close())

    def close(self) -> None:
        """Hang up when all written is sent."""
        self._closing = True
        self._stop_clock()
        self._transport.close()

    def _watch_clock(self, seconds: float) -> None:
        """Hang up after so long without a request; a timer that is set already finds out for itself."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._stop_clock()
            self._timer = self._loop.call_at(self._deadline, self._time_out)

    def _stop_clock(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if self._busy:
            return
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._time_out)
        else:
            self.close()


def _answer_failure() -> Response:
    return answer_error(StatusError(500, "InternalError", "Internal error occurred: the server's log says which"))


class Listener:
    """A listening socket and the connections that came through it."""

    def __init__(self, handler: Handler, *, largest_body: int = LARGEST_BODY) -> None:
        self._handler = handler
        self._largest_body = largest_body
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port, which the system chooses for 0."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._handler, self.connections, self._largest_body),
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
