"""
A request body that is read while it is being received, such as an upload.

A body buffers a few MiB at most: the connection stops reading from the client until the handler has caught up.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

MAX_UNREAD: Final = 4 << 20


class IncomingBody:
    """
    A body that a connection feeds in chunks and one handler reads.

    `send_continue` is called at the first read, `throttle` when reading from the client must pause or may resume.
    """

    def __init__(self, send_continue: Callable[[], None], throttle: Callable[[bool], None]) -> None:
        self._send_continue = send_continue
        self._throttle = throttle
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._is_asked = False
        self._is_throttled = False
        self._is_unwanted = False
        self._changed = asyncio.Event()
        self.is_ended = False

    def feed(self, data: bytes) -> None:
        """Add a received chunk."""
        if self._is_unwanted:
            return
        self._pieces.append(data)
        self._unread += len(data)
        self._changed.set()
        if self._unread > MAX_UNREAD and not self._is_throttled:
            self._is_throttled = True
            self._throttle(True)

    def end(self) -> None:
        """Mark the body as complete."""
        self.is_ended = True
        self._changed.set()

    def discard(self) -> None:
        """Drop the chunks: no handler will read them."""
        self._is_unwanted = True
        self._pieces.clear()
        self._release()

    async def read(self) -> bytes:
        """Wait for data and return all bytes received since the last read; return `b""` at the end of the body."""
        if not self._is_asked:
            self._is_asked = True
            self._send_continue()
        while not self._pieces and not self.is_ended:
            self._changed.clear()
            await self._changed.wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        self._release()
        return data

    def _release(self) -> None:
        self._unread = 0
        if self._is_throttled:
            self._is_throttled = False
            self._throttle(False)
