"""
One end of a WebSocket connection, over a transport that the caller reads from.

The `websockets` library parses and builds frames; this module adds flow control in both directions.
"""

import asyncio
import logging
from collections import deque
from typing import Final

from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from virtshape.stream.duplex import ABNORMAL_CLOSURE, FAILED, NORMAL, StreamClosed

MAX_FRAME_BYTES: Final = 4 * 1024 * 1024
MAX_UNREAD: Final = 256 * 1024
MAX_OWED_BYTES: Final = 64 * 1024
"""Maximum bytes of unsent replies to pings; a client may send pings without reading the replies."""
MAX_REASON_LENGTH: Final = 123
CLOSING_SECONDS: Final = 5.0

_DATA: Final = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)
_NO_STATUS: Final = 1005
_RESERVED: Final = (_NO_STATUS, ABNORMAL_CLOSURE)

# At lower levels, the library logs the contents of frames, which may include typed passwords.
_frames_log = logging.getLogger(f"{__name__}.frames")
_frames_log.setLevel(logging.ERROR)


class WebSocket:
    """
    A stream of messages; `side` is client or server.

    With `join_fragments`, each read returns one message; otherwise, each read returns a fragment as soon as it arrives.
    """

    def __init__(self, transport: asyncio.Transport, side: Side, *, join_fragments: bool = False) -> None:
        self._transport = transport
        largest = MAX_FRAME_BYTES if join_fragments else None
        self._protocol = Protocol(side, max_size=(largest, MAX_FRAME_BYTES), logger=_frames_log)
        self._join_fragments = join_fragments
        self._parts: list[bytes] = []
        self._unread: deque[bytes] = deque()
        self._unread_size = 0
        self._owed_size = 0
        self._is_reading = True
        self._is_discarding = False
        self._is_lost = False
        self._changed = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time()

    async def read(self) -> bytes:
        """Return the next bytes, or b"" after a normal close; raise StreamClosed if the connection ended otherwise."""
        while not self._unread:
            if self._ended.is_set():
                return self._end_reading()
            self._changed.clear()
            await self._changed.wait()
        data = self._unread.popleft()
        self._unread_size -= len(data)
        self._update_reading()
        return data

    def _end_reading(self) -> bytes:
        closed = self._describe_end()
        if closed.code in (NORMAL, _NO_STATUS):
            return b""
        raise closed

    async def write(self, data: bytes) -> None:
        """Send a message; raise StreamClosed if the connection is closed."""
        if self._ended.is_set() or self._protocol.state is not State.OPEN:
            raise self._describe_end()
        self._protocol.send_binary(data)
        self._flush()
        await self._writable.wait()

    def ping(self) -> None:
        """Send a ping, if data can be sent, so that `measure_silence` shows whether the other side still responds."""
        if self._protocol.state is State.OPEN and not self._is_lost and self._writable.is_set():
            self._protocol.send_ping(b"")
            self._flush()

    def measure_silence(self) -> float:
        """Return the seconds since data was last received; 0 while either side does not read."""
        if not self._is_reading or not self._writable.is_set():
            self._heard_at = self._loop.time()
        return self._loop.time() - self._heard_at

    async def close(self, code: int = NORMAL, reason: str = "", seconds: float = CLOSING_SECONDS) -> None:
        """Send a close frame, wait at most this many seconds for the reply, and close the transport."""
        self._is_discarding = True
        self._unread.clear()
        self._unread_size = 0
        if self._protocol.state is State.OPEN and not self._is_lost:
            self._protocol.send_close(FAILED if code in _RESERVED else code, _shorten(reason))
            self._flush()
        self._update_reading()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            self._transport.abort()
        else:
            self._transport.close()

    def abort(self) -> None:
        """Close the transport immediately."""
        self._transport.abort()

    async def wait_ended(self) -> None:
        """Wait until the other side has closed the connection or violated the protocol, or the connection is lost."""
        await self._ended.wait()

    def receive(self, data: bytes) -> None:
        """Process received bytes."""
        self._heard_at = self._loop.time()
        self._protocol.receive_data(data)
        self._owed_size += self._flush()
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in _DATA and not self._is_discarding:
                self._receive_frame(event)
        if self._protocol.close_rcvd is not None or self._protocol.parser_exc is not None:
            self._end()
        self._update_reading()

    def lose(self) -> None:
        """Handle the loss of the transport."""
        self._is_lost = True
        self._writable.set()
        self._end()

    def pause_writing(self) -> None:
        """Handle a full write buffer."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Handle a drained write buffer."""
        self._owed_size = 0
        self._writable.set()
        self._update_reading()

    def _receive_frame(self, frame: Frame) -> None:
        self._parts.append(bytes(frame.data))
        if self._join_fragments and not frame.fin:
            return
        data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        self._parts.clear()
        if data:
            self._unread.append(data)
            self._unread_size += len(data)
            self._changed.set()

    def _end(self) -> None:
        self._ended.set()
        self._changed.set()

    def _describe_end(self) -> StreamClosed:
        received = self._protocol.close_rcvd
        if self._is_discarding:
            return StreamClosed(NORMAL)
        if received is not None:
            return StreamClosed(int(received.code), received.reason)
        error = self._protocol.parser_exc
        if error is not None:
            sent = self._protocol.close_sent
            return StreamClosed(int(sent.code) if sent is not None else ABNORMAL_CLOSURE, str(error))
        return StreamClosed(ABNORMAL_CLOSURE, "the connection was lost")

    def _flush(self) -> int:
        # The library requests a half-close with an empty chunk. Skip it: the closing handshake closes the connection.
        pieces = [piece for piece in self._protocol.data_to_send() if piece]
        if not self._is_lost and not self._transport.is_closing():
            for piece in pieces:
                self._transport.write(piece)
        return sum(map(len, pieces))

    def _update_reading(self) -> None:
        """
        Pause reading while too much received data is unread or too many replies to pings are unsent.

        Other unsent data never pauses reading: if both sides did that, each would wait for the other.
        """
        if self._transport.is_closing():
            return
        is_owing = self._owed_size > MAX_OWED_BYTES and not self._writable.is_set()
        has_room = self._unread_size <= MAX_UNREAD and not is_owing
        if has_room and not self._is_reading:
            self._transport.resume_reading()
        elif not has_room and self._is_reading:
            self._transport.pause_reading()
        self._is_reading = has_room


def _shorten(reason: str) -> str:
    """Truncate a close reason to the protocol's limit."""
    return reason.encode()[:MAX_REASON_LENGTH].decode(errors="ignore")
