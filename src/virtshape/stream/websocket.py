"""
One end of a WebSocket: bytes in messages, over a transport that somebody else reads from.

Frames are the library's; here is who waits for whom. Whoever reads slowly slows the sender down, on both ends.
"""

import asyncio
import logging
from collections import deque
from typing import Final

from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State

from virtshape.stream.duplex import BROKEN_OFF, FAILED, NORMAL, HangUp

LARGEST_FRAME: Final = 4 * 1024 * 1024
MOST_UNREAD: Final = 256 * 1024
MOST_OWED: Final = 64 * 1024
"""How many bytes of answers to pings may wait for a client that asks and does not listen."""
LONGEST_REASON: Final = 123
CLOSING_SECONDS: Final = 5.0

_DATA: Final = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)
_NO_STATUS: Final = 1005
_UNSPEAKABLE: Final = (_NO_STATUS, BROKEN_OFF)

# The library logs what frames hold, which may be a password that somebody types.
_frames_log = logging.getLogger(f"{__name__}.frames")
_frames_log.setLevel(logging.ERROR)


class WebSocket:
    """
    A stream of messages; `side` says which end this is.

    With `whole_messages` each read is a message; otherwise it is any part of one, as soon as it is there.
    """

    def __init__(self, transport: asyncio.Transport, side: Side, *, whole_messages: bool = False) -> None:
        self._transport = transport
        largest = LARGEST_FRAME if whole_messages else None
        self._protocol = Protocol(side, max_size=(largest, LARGEST_FRAME), logger=_frames_log)
        self._whole_messages = whole_messages
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
        """The next bytes; none when either side has closed it as agreed, HangUp when it ended otherwise."""
        while not self._unread:
            if self._ended.is_set():
                return self._end_reading()
            self._changed.clear()
            await self._changed.wait()
        data = self._unread.popleft()
        self._unread_size -= len(data)
        self._watch_room()
        return data

    def _end_reading(self) -> bytes:
        hang_up = self._describe_end()
        if hang_up.code in (NORMAL, _NO_STATUS):
            return b""
        raise hang_up

    async def write(self, data: bytes) -> None:
        """Send a message; HangUp if the other side is gone."""
        if self._ended.is_set() or self._protocol.state is not State.OPEN:
            raise self._describe_end()
        self._protocol.send_binary(data)
        self._flush()
        await self._writable.wait()

    def ping(self) -> None:
        """Ask for a sign of life; `measure_silence` tells how long there was none."""
        if self._protocol.state is State.OPEN and not self._is_lost and self._writable.is_set():
            self._protocol.send_ping(b"")
            self._flush()

    def measure_silence(self) -> float:
        """How many seconds nothing has come; not counted where we do not listen, or the other side does not."""
        if not self._is_reading or not self._writable.is_set():
            self._heard_at = self._loop.time()
        return self._loop.time() - self._heard_at

    async def close(self, code: int = NORMAL, words: str = "", seconds: float = CLOSING_SECONDS) -> None:
        """Say goodbye, wait so many seconds for the answer, and hang up."""
        self._is_discarding = True
        self._unread.clear()
        self._unread_size = 0
        if self._protocol.state is State.OPEN and not self._is_lost:
            self._protocol.send_close(FAILED if code in _UNSPEAKABLE else code, _shorten(words))
            self._flush()
        self._watch_room()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            self._transport.abort()
        else:
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    async def wait_ended(self) -> None:
        """Wait until the other side has gone or has said goodbye."""
        await self._ended.wait()

    def receive(self, data: bytes) -> None:
        """Take in what came over the transport."""
        self._heard_at = self._loop.time()
        self._protocol.receive_data(data)
        self._owed_size += self._flush()
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in _DATA and not self._is_discarding:
                self._take(event)
        if self._protocol.close_rcvd is not None or self._protocol.parser_exc is not None:
            self._end()
        self._watch_room()

    def lose(self) -> None:
        """Take note that the transport is gone."""
        self._is_lost = True
        self._writable.set()
        self._end()

    def pause_writing(self) -> None:
        """Take note that the other side is slow."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Take note that it has caught up."""
        self._owed_size = 0
        self._writable.set()
        self._watch_room()

    def _take(self, frame: Frame) -> None:
        self._parts.append(bytes(frame.data))
        if self._whole_messages and not frame.fin:
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

    def _describe_end(self) -> HangUp:
        told = self._protocol.close_rcvd
        if self._is_discarding:
            return HangUp(NORMAL)
        if told is not None:
            return HangUp(int(told.code), told.reason)
        error = self._protocol.parser_exc
        if error is not None:
            sent = self._protocol.close_sent
            return HangUp(int(sent.code) if sent is not None else BROKEN_OFF, str(error))
        return HangUp(BROKEN_OFF, "the connection broke off")

    def _flush(self) -> int:
        # An empty piece asks for the end of the connection, which comes when both have said goodbye.
        pieces = [piece for piece in self._protocol.data_to_send() if piece]
        if not self._is_lost and not self._transport.is_closing():
            for piece in pieces:
                self._transport.write(piece)
        return sum(map(len, pieces))

    def _watch_room(self) -> None:
        """Read on only where there is room; what we send must not keep us from it, or both sides would wait."""
        if self._transport.is_closing():
            return
        is_owing = self._owed_size > MOST_OWED and not self._writable.is_set()
        has_room = self._unread_size <= MOST_UNREAD and not is_owing
        if has_room and not self._is_reading:
            self._transport.resume_reading()
        elif not has_room and self._is_reading:
            self._transport.pause_reading()
        self._is_reading = has_room


def _shorten(words: str) -> str:
    """As much of a reason as a goodbye has room for."""
    return words.encode()[:LONGEST_REASON].decode(errors="ignore")
