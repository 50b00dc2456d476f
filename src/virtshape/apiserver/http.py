"""
HTTP/1.1 server on asyncio: accept connections, pass requests to the handler and write its responses.

Responses keep the order of their requests, so clients may pipeline. Reading, parsing and handling stop while a client
does not read its responses: a connection holds at most one response and a few requests. A handler returns its response,
or an awaitable if it must wait. Streams and WebSockets end when either side disconnects.
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
from virtshape.apiserver.limits import MAX_BODY_BYTES, too_many_requests
from virtshape.apiserver.memorybudget import MemoryBudget
from virtshape.apiserver.message import Request, Response, Stream, Upgrade
from virtshape.apiserver.parsing import Client, FindLimit, RequestReader
from virtshape.apiserver.responses import build_error_response
from virtshape.apiserver.upgrading import relay_stream
from virtshape.stream.websocket import WebSocket

MAX_PIPELINED: Final = 64
MAX_PIPELINED_BYTES: Final = 1024 * 1024
"""Maximum bytes in the bodies of queued requests; a single body may exceed it."""
MAX_CONNECTIONS: Final = 4000
SLICE: Final = 64 * 1024
IDLE_SECONDS: Final = 180.0
HEAD_SECONDS: Final = 30.0
"""Time for a client to send its first request, and its next request after 401 Unauthorized."""
LINGER_SECONDS: Final = 2.0
CLOSE_SECONDS: Final = 1.0
"""Time for an idle client to complete the TLS shutdown; many clients never do."""
STALL_SECONDS: Final = 300.0
"""How long a client may go without reading any of its response."""

AnyResponse = Response | Stream | Upgrade
Handler = Callable[[Request], AnyResponse | Awaitable[AnyResponse]]
Authenticate = Callable[[Request], object]
"""Raises StatusError if a request's headers do not authenticate its sender."""

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}
_log = logging.getLogger(__name__)


class _QueuedRequest(NamedTuple):
    """A queued request, or the error response to a request that could not be parsed."""

    request: Request
    keep_alive: bool
    refusal: Response | None = None


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._handler = listener.handler
        self._memory = listener.memory
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_QueuedRequest] = deque()
        self._waiting_bytes = 0
        self._reserved = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._stall_timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._writable = asyncio.Event()
        self._writable.set()
        self._unsent: memoryview | None = None
        self._held = 0  # size of the body or chunk being sent, which stays in memory until all of it is sent
        self._after_send: Callable[[], None] | None = None
        self._closing = False
        self._stopping = False
        self._streaming = False
        self._busy = False
        self._refused = False
        self._unauthorized = False
        self._socket: WebSocket | None = None
        self._current: Request | None = None
        self._abort = self.abort  # identifies this connection in the memory budget

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start reading requests from the client."""
        self._transport: Any = transport
        peer = transport.get_extra_info("peername")
        tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
        client = Client(peer[0] if peer else "", tls.getpeercert() if tls is not None else None)
        self._reader = RequestReader(
            client,
            self._take,
            self._refuse,
            self._send_continue,
            self._throttle,
            self._listener.get_limit,
            self._admit,
            self._has_room,
        )
        if self._listener.add(self):
            self._start_idle_timer(HEAD_SECONDS)
        else:
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Cancel everything that is in progress for this client."""
        self._listener.remove(self)
        self._closing = True
        self._writable.set()
        self._stop_idle_timer()
        self._stop_stall_timer()
        self._unsent = None
        self._waiting.clear()
        self._reader.discard()
        self._memory.drop(self._abort)
        self._memory.release(self._reserved)
        self._reserved = 0
        if self._socket is not None:
            self._socket.lose()
        elif self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Process received bytes."""
        if self._socket is not None:
            self._socket.receive(data)
            return
        self._reader.feed(data)
        if not self._closing and not self._has_room():
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Pause responses until the client has read more."""
        self._writable.clear()
        self._note_unsent()
        if self._socket is not None:
            self._socket.pause_writing()
        elif self._stall_timer is None:
            self._stall_timer = self._loop.call_later(STALL_SECONDS, self.abort)

    def resume_writing(self) -> None:
        """Resume responses, but only after the current callback, because a write may call this method."""
        self._writable.set()
        self._stop_stall_timer()
        if self._socket is not None:
            self._socket.resume_writing()
        self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        if self._unsent is not None:
            self._write_unsent()
        elif self._writable.is_set():
            self._memory.drop(self._abort)
        if self._task is None and not self._closing:
            self._serve_next()

    def _note_unsent(self) -> None:
        self._memory.hold(self._abort, self._held + self._transport.get_write_buffer_size())

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _take(self, request: Request, keep_alive: bool) -> None:
        """Handle the request, or queue it."""
        if not self._closing:
            self._enqueue(_QueuedRequest(request, keep_alive))

    def _has_room(self) -> bool:
        return (
            len(self._waiting) < MAX_PIPELINED and self._waiting_bytes < MAX_PIPELINED_BYTES and self._writable.is_set()
        )

    def _admit(self, request: Request, size: int) -> StatusError | None:
        """Reserve memory for a large body; return an error if the client is not authenticated or memory is short."""
        try:
            self._listener.authenticate(request)
        except StatusError as error:
            return error
        if not self._memory.reserve(size):
            return too_many_requests()
        self._reserved += size
        return None

    def _release(self, request: Request) -> None:
        """Release the memory that was reserved for the body of a request."""
        if request.reserved and self._reserved:
            self._memory.release(request.reserved)
            self._reserved -= request.reserved
            request.reserved = 0

    def _send_continue(self) -> None:
        if not self._closing:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _throttle(self, on: bool) -> None:
        if not self._closing:
            (self._transport.pause_reading if on else self._transport.resume_reading)()

    def _enqueue(self, queued: _QueuedRequest) -> None:
        self._waiting.append(queued)
        self._waiting_bytes += len(queued.request.body)
        if not self._has_room() or self._reader.is_holding():
            self._transport.pause_reading()
        if not self._busy:
            self._serve_next()

    def _serve_next(self) -> None:
        """Handle queued requests while responses are immediate and the client reads them."""
        self._busy = True
        while not self._closing and self._writable.is_set() and self._unsent is None and self._has_next():
            queued = self._waiting.popleft()
            request = queued.request
            self._waiting_bytes -= len(request.body)
            try:
                answer = queued.refusal or self._handler(request)
            except Exception:  # noqa: BLE001 - last handler: the client must get a response
                _log.exception("%s %s failed", request.method, request.path)
                answer = _internal_error_response()
            if isinstance(answer, Response):
                self._send(request, answer, queued.keep_alive)
            else:
                self._current = request
                self._task = self._loop.create_task(self._finish(request, answer, queued.keep_alive))
                return
        if self._closing:
            return
        if not self._writable.is_set() or self._unsent is not None:
            self._transport.pause_reading()  # until resume_writing
            return
        self._busy = False
        self._transport.resume_reading()
        self._start_idle_timer(HEAD_SECONDS if self._unauthorized else IDLE_SECONDS)

    def _has_next(self) -> bool:
        if not self._waiting:
            self._reader.release()
        return bool(self._waiting)

    async def _finish(
        self, request: Request, answer: Stream | Upgrade | Awaitable[AnyResponse], keep_alive: bool
    ) -> None:
        try:
            found = await answer if isinstance(answer, Awaitable) else answer
            if isinstance(found, Response):
                self._send(request, found, keep_alive and not self._stopping)
            elif isinstance(found, Upgrade):
                await self._upgrade(found)
            else:
                await self._stream(request, found)
        except Exception:  # noqa: BLE001 - last handler: the client must get a response
            _log.exception("%s %s failed", request.method, request.path)
            self._send(request, _internal_error_response(), keep_alive=False)
        finally:
            self._release(request)
            self._task = self._current = None
        if self._stopping and self._unsent is None:
            self.close()
        elif not self._closing:
            self._serve_next()

    def _send(self, request: Request, response: Response, keep_alive: bool) -> None:
        self._release(request)
        if self._closing:
            return
        keep_alive = keep_alive and not request.is_arriving
        self._unauthorized = response.status == HTTPStatus.UNAUTHORIZED
        head = [
            _STATUS_LINES[response.status],
            f"content-type: {response.content_type}\r\n" if response.content_type else "",
            f"content-length: {len(response.body)}\r\n",
        ]
        head += [f"{name}: {value}\r\n" for name, value in response.headers]
        head.append("\r\n" if keep_alive else "connection: close\r\n\r\n")
        body = b"" if request.method == "HEAD" else response.body
        if request.incoming is not None and request.is_arriving:
            request.incoming.discard()
            self._after_send = self._linger
        elif self._refused and not self._waiting:
            self._after_send = self._linger
        elif not keep_alive:
            self._after_send = self.close
        self._transport.write("".join(head).encode("latin-1") + body[:SLICE])
        if len(body) > SLICE:
            self._held = len(body)
            self._unsent = memoryview(body)[SLICE:]
            self._write_unsent()
        elif self._after_send is not None:
            self._after_send()

    def _write_unsent(self) -> None:
        """
        Write a large body in slices, as fast as the client reads it.

        The client reads one slice while the next is encrypted, and the transport never buffers much of the body.
        """
        while self._unsent is not None and self._writable.is_set():
            self._transport.write(self._unsent[:SLICE])
            self._unsent = self._unsent[SLICE:] if len(self._unsent) > SLICE else None
        if self._unsent is None:
            self._held = 0
            if self._after_send is not None and not self._closing:
                self._after_send()

    async def _stream(self, request: Request, stream: Stream) -> None:
        head = [_STATUS_LINES[stream.status], f"content-type: {stream.content_type}\r\n"]
        head += [f"{name}: {value}\r\n" for name, value in stream.headers]
        self._transport.write("".join([*head, "transfer-encoding: chunked\r\n\r\n"]).encode("latin-1"))
        self._stop_idle_timer()
        self._streaming = True
        try:
            if request.method != "HEAD":
                async for chunk in stream.chunks:
                    self._held = len(chunk)
                    for at in range(0, len(chunk), SLICE):
                        piece = chunk[at : at + SLICE]
                        self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                        if not self._writable.is_set():
                            await self._writable.wait()
                    self._held = 0
                    del chunk  # it must not stay in memory until the next one is available
        finally:
            self._streaming = False
            self._held = 0
            if not self._closing:
                self._transport.write(b"0\r\n\r\n")
            with contextlib.suppress(Exception):
                await stream.chunks.aclose()  # type: ignore[attr-defined]  # every stream here is a generator

    async def _upgrade(self, upgrade: Upgrade) -> None:
        """Switch the connection to a WebSocket, and close it when the stream ends."""
        if self._closing or self._stopping:
            await upgrade.stream.close()
            return
        head = [_STATUS_LINES[upgrade.status], *(f"{name}: {value}\r\n" for name, value in upgrade.headers), "\r\n"]
        self._transport.write("".join(head).encode("latin-1"))
        self._stop_idle_timer()
        self._socket = WebSocket(self._transport, Side.SERVER, join_fragments=upgrade.join_fragments)
        self._transport.resume_reading()
        self._socket.receive(self._reader.take_rest())
        try:
            await relay_stream(self._socket, upgrade.stream)
        finally:
            self._closing = True

    def _refuse(self, error: StatusError) -> None:
        """Queue the error response to a request that cannot be parsed; it is the last response."""
        if not self._closing and not self._refused:
            self._refused = True
            self._enqueue(
                _QueuedRequest(Request("GET", "/", {}), keep_alive=False, refusal=build_error_response(error))
            )

    def _linger(self) -> None:
        """Keep reading for a moment before closing, because a client that is still sending might miss the response."""
        self._closing = True
        self._stop_idle_timer()
        self._transport.resume_reading()
        self._timer = self._loop.call_later(LINGER_SECONDS, self.close)

    def stop(self) -> None:
        """Close the connection after its response; an idle connection, an upload or a stream is closed immediately."""
        self._stopping = True
        self._waiting.clear()
        if self._unsent is not None:
            self._after_send = self.close
        elif self._task is None:
            self._close(CLOSE_SECONDS if self._writable.is_set() else STALL_SECONDS)
        elif self._streaming or self._socket is not None or (self._current is not None and self._current.is_arriving):
            self._task.cancel()
            self._task.add_done_callback(lambda _: self.close())

    def close(self) -> None:
        """Close after all written bytes are sent; abort if this takes longer than STALL_SECONDS."""
        self._close(STALL_SECONDS)

    def _close(self, timeout: float) -> None:
        self._closing = True
        self._stop_idle_timer()
        self._transport.close()
        self._timer = self._loop.call_later(timeout, self.abort)

    def abort(self) -> None:
        """Close now and drop unsent bytes."""
        self._closing = True
        self._stop_idle_timer()
        self._transport.abort()

    @property
    def idle_since(self) -> float | None:
        """
        The event loop time at which the connection became idle, or None while a request is being handled.

        It is set earlier for clients that have not authenticated yet, so that their connections are closed first.
        """
        return None if self._busy or self._closing else self._deadline - IDLE_SECONDS

    def _start_idle_timer(self, seconds: float) -> None:
        """Close the connection after this time without a request; an earlier timer reschedules itself."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._stop_idle_timer()
            self._timer = self._loop.call_at(self._deadline, self._time_out)

    def _stop_idle_timer(self) -> None:
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
            self._close(CLOSE_SECONDS)


def _internal_error_response() -> Response:
    return build_error_response(StatusError(500, "InternalError", "Internal error occurred: see the server log"))


class Listener:
    """
    A listening socket and its connections.

    `authenticate` raises StatusError for requests without valid credentials. Large bodies are read only for
    authenticated clients.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        get_limit: FindLimit = lambda _: MAX_BODY_BYTES,
        authenticate: Authenticate = lambda _: None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self.handler = handler
        self.get_limit = get_limit
        self.authenticate = authenticate
        self.memory = MemoryBudget()
        self.connections: set[Connection] = set()
        self._max_connections = max_connections
        self._server: asyncio.Server | None = None

    def add(self, connection: Connection) -> bool:
        """Add a connection; if there are too many, close the one that is idle longest. Return False if all are busy."""
        if len(self.connections) >= self._max_connections:
            idle = [(since, other) for other in self.connections if (since := other.idle_since) is not None]
            if not idle:
                return False
            min(idle, key=lambda pair: pair[0])[1].abort()
        self.connections.add(connection)
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self.connections.discard(connection)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Start to listen and return the port; for port 0, the system chooses one."""
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            host,
            port,
            ssl=tls,
            ssl_shutdown_timeout=STALL_SECONDS if tls is not None else None,
            reuse_address=True,
            backlog=1024,
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, seconds: float = 10.0) -> None:
        """Stop listening, finish requests in progress and end streams; after `seconds`, abort open connections."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self.connections):
            connection.stop()
        deadline = asyncio.get_running_loop().time() + seconds
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
