"""
HTTP/1.1 connections on asyncio: pass requests to the handler and write its responses.

Responses are sent in the order of the requests, so clients may pipeline. Reading, parsing and handling stop while a
client does not read its responses, so a connection buffers at most one response and a few requests. A handler returns
its response, or an awaitable if it must wait. Streams and WebSockets end when either side disconnects.
"""

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from websockets.protocol import Side

from virtshape.api.status import StatusError
from virtshape.apiserver.limits import too_many_connections, too_many_requests
from virtshape.apiserver.message import (
    CURRENT_REQUEST,
    AnyResponse,
    IsPermitted,
    Request,
    Response,
    Stream,
    Upgrade,
)
from virtshape.apiserver.parsing import Client, RequestReader
from virtshape.apiserver.responses import build_error_response
from virtshape.apiserver.responsewriter import ResponseWriter, encode_head
from virtshape.apiserver.websocketrelay import relay_stream
from virtshape.stream.websocket import WebSocket

if TYPE_CHECKING:
    from virtshape.apiserver.listener import Listener

MAX_PIPELINED: Final = 64
MAX_PIPELINED_BYTES: Final = 1024 * 1024
"""Maximum bytes in the bodies of queued requests; a single body may exceed it."""
IDLE_SECONDS: Final = 180.0
HEAD_SECONDS: Final = 30.0
"""How long a client may take to send its first request, and its next request after 401 Unauthorized."""
LINGER_SECONDS: Final = 2.0
CLOSE_SECONDS: Final = 1.0
"""How long an idle client may take to complete the TLS shutdown; many clients never complete it."""
STALL_SECONDS: Final = 300.0
"""How long a client may go without reading any of its response."""
PERMISSION_SECONDS: Final = 5.0
"""How often to check whether the client of a stream may still read it."""

Handler = Callable[[Request], AnyResponse | Awaitable[AnyResponse]]

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
        self._permission_timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._after_send: Callable[[], None] | None = None
        self._closing = False
        self._stopping = False
        self._streaming = False
        self._busy = False
        self._refused = False
        self._ignoring = False
        self._unauthorized = False
        self._socket: WebSocket | None = None
        self._current: Request | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start reading requests from the client; if too many other connections are busy, answer 429 and close."""
        self._transport: Any = transport
        self._writer = ResponseWriter(transport, self._memory, self.abort, self._end_response, self._continue)
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
            self._closing = self._ignoring = True
            response = build_error_response(too_many_connections())
            before = f"content-type: {response.content_type}\r\ncontent-length: {len(response.body)}\r\n"
            head = encode_head(Request("GET", "/", {}), response, before=before, after="connection: close\r\n")
            self._writer.write(head, response.body)
            self._timer = self._loop.call_later(LINGER_SECONDS, self.abort)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Cancel everything that is in progress for this client."""
        self._listener.remove(self)
        self._closing = True
        self._stop_idle_timer()
        self._stop_stall_timer()
        self._stop_permission_timer()
        self._writer.lose()
        self._waiting.clear()
        self._reader.discard()
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
        if self._ignoring:
            return
        self._reader.feed(data)
        if not self._closing and not self._has_room():
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """Pause responses until the client has read more."""
        self._writer.pause()
        if self._socket is not None:
            self._socket.pause_writing()
        elif self._stall_timer is None:
            self._stall_timer = self._loop.call_later(STALL_SECONDS, self.abort)

    def resume_writing(self) -> None:
        """Resume responses, but only after the current callback, because a write may call this method."""
        self._writer.resume()
        self._stop_stall_timer()
        if self._socket is not None:
            self._socket.resume_writing()
        self._loop.call_soon(self._continue)

    def _continue(self) -> None:
        self._writer.write_rest()
        if self._task is None and not self._closing:
            self._serve_next()

    def _stop_stall_timer(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None

    def _take(self, request: Request, keep_alive: bool) -> None:
        """Handle the request, or queue it after earlier requests."""
        if not self._closing:
            self._enqueue(_QueuedRequest(request, keep_alive))

    def _has_room(self) -> bool:
        return (
            len(self._waiting) < MAX_PIPELINED
            and self._waiting_bytes < MAX_PIPELINED_BYTES
            and self._writer.is_writable
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
        """Handle queued requests until a response must be awaited or the client stops reading."""
        self._busy = True
        writer = self._writer
        while not self._closing and writer.is_ready and self._has_next():
            queued = self._waiting.popleft()
            request = queued.request
            self._waiting_bytes -= len(request.body)
            entered = CURRENT_REQUEST.set(request)
            try:
                answer = queued.refusal or self._handle(request)
                if not isinstance(answer, Response):
                    self._current = request
                    self._task = self._loop.create_task(self._finish(request, answer, queued.keep_alive))
                    return
            finally:
                CURRENT_REQUEST.reset(entered)
            self._send(request, answer, queued.keep_alive)
        if self._closing:
            return
        if not writer.is_ready:
            self._transport.pause_reading()  # resume_writing resumes reading when the client has caught up
            return
        self._busy = False
        self._transport.resume_reading()
        self._start_idle_timer(HEAD_SECONDS if self._unauthorized else IDLE_SECONDS)

    def _handle(self, request: Request) -> AnyResponse | Awaitable[AnyResponse]:
        try:
            return self._handler(request)
        except Exception:  # noqa: BLE001 - last handler: the client must get a response
            _log.exception("%s %s failed", request.method, request.path)
            return _internal_error_response(request)

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
                await self._upgrade(request, found)
            else:
                await self._stream(request, found)
        except Exception:  # noqa: BLE001 - last handler: the client must get a response
            _log.exception("%s %s failed", request.method, request.path)
            self._send(request, _internal_error_response(request), keep_alive=False)
        finally:
            self._release(request)
            self._task = self._current = None
        if self._stopping and not self._writer.is_sending:
            self.close()
        elif not self._closing:
            self._serve_next()

    def _send(self, request: Request, response: Response, keep_alive: bool) -> None:
        self._release(request)
        if self._closing:
            return
        keep_alive = keep_alive and not request.is_arriving and not self._listener.is_draining
        self._unauthorized = response.status == HTTPStatus.UNAUTHORIZED
        content_type = f"content-type: {response.content_type}\r\n" if response.content_type else ""
        head = encode_head(
            request,
            response,
            before=f"{content_type}content-length: {len(response.body)}\r\n",
            after="" if keep_alive else "connection: close\r\n",
        )
        body = b"" if request.method == "HEAD" else response.body
        if request.incoming is not None and request.is_arriving:
            request.incoming.discard()
            self._after_send = self._linger
        elif self._refused and not self._waiting:
            self._after_send = self._linger
        elif not keep_alive:
            self._after_send = self.close
        self._writer.write(head, body)

    def _end_response(self) -> None:
        """Close the connection after its last response."""
        if self._after_send is not None and not self._closing:
            self._after_send()

    async def _stream(self, request: Request, stream: Stream) -> None:
        head = encode_head(
            request,
            stream,
            before=f"content-type: {stream.content_type}\r\n",
            after="transfer-encoding: chunked\r\n",
        )
        self._transport.write(head)
        self._stop_idle_timer()
        self._streaming = True
        self._start_permission_timer(stream.is_permitted)
        try:
            if request.method != "HEAD":
                await self._writer.write_chunks(stream.chunks)
        finally:
            self._streaming = False
            self._stop_permission_timer()
            if not self._closing:
                self._transport.write(b"0\r\n\r\n")
            try:
                await stream.chunks.aclose()  # type: ignore[attr-defined]  # every stream here is a generator
            except Exception:  # noqa: BLE001 - the client already has the whole response
                _log.exception("%s %s: closing the stream failed", request.method, request.path)

    async def _upgrade(self, request: Request, upgrade: Upgrade) -> None:
        """Switch the connection to a WebSocket, and close it when the stream ends."""
        if self._closing or self._stopping:
            await upgrade.stream.close()
            return
        self._transport.write(encode_head(request, upgrade))
        self._stop_idle_timer()
        self._socket = WebSocket(self._transport, Side.SERVER, join_fragments=upgrade.join_fragments)
        self._transport.resume_reading()
        self._socket.receive(self._reader.take_rest())
        self._start_permission_timer(upgrade.is_permitted)
        try:
            await relay_stream(self._socket, upgrade.stream)
        finally:
            self._stop_permission_timer()
            self._closing = True

    def _refuse(self, error: StatusError) -> None:
        """Queue the error response to a request that cannot be parsed, as the last response."""
        if not self._closing and not self._refused:
            self._refused = True
            self._enqueue(
                _QueuedRequest(Request("GET", "/", {}), keep_alive=False, refusal=build_error_response(error))
            )

    def _linger(self) -> None:
        """Read for LINGER_SECONDS before closing; otherwise, a client that is still sending might miss the response."""
        self._closing = True
        self._stop_idle_timer()
        self._transport.resume_reading()
        self._timer = self._loop.call_later(LINGER_SECONDS, self.close)

    def stop(self) -> None:
        """Close the connection after its response; an idle connection, an upload or a stream is closed immediately."""
        self._stopping = True
        self._waiting.clear()
        if self._writer.is_sending:
            self._after_send = self.close
        elif self._task is None:
            self._close(CLOSE_SECONDS if self._writer.is_writable else STALL_SECONDS)
        elif self._streaming or self._socket is not None or (self._current is not None and self._current.is_arriving):
            self._cancel_task(self._task)

    def _cancel_task(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        task.add_done_callback(lambda _: self.close())

    def _start_permission_timer(self, is_permitted: IsPermitted | None) -> None:
        if is_permitted is not None:
            self._permission_timer = self._loop.call_later(PERMISSION_SECONDS, self._check_permission, is_permitted)

    def _check_permission(self, is_permitted: IsPermitted) -> None:
        """End the stream if its client may no longer read it."""
        if is_permitted():
            self._start_permission_timer(is_permitted)
        elif self._task is not None:
            self._cancel_task(self._task)

    def _stop_permission_timer(self) -> None:
        if self._permission_timer is not None:
            self._permission_timer.cancel()
            self._permission_timer = None

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
        The event loop time at which the connection became idle, or None if it handles a request or is closing.

        For clients that have not authenticated yet, the time is set earlier, so that their connections are closed
        first.
        """
        return None if self._busy or self._closing else self._deadline - IDLE_SECONDS

    def _start_idle_timer(self, seconds: float) -> None:
        """Close the connection if no request arrives within this time; extend a running timer that ends earlier."""
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


def _internal_error_response(request: Request) -> Response:
    message = f"Internal error occurred: see the server log for request {request.audit_id}"
    return build_error_response(StatusError(500, "InternalError", message))
