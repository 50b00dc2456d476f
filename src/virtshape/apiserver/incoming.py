"""
The body of a request that is taken while it still comes, by somebody who may be slower than the network.

Holds a few MiB at most: a sender that is ahead of its taker is made to wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_UNREAD: Final = 4 << 20


class IncomingBody:
    """
    The pieces of a body; fed by a connection, read by one handler.

    `invite` is called when the first piece is asked for, `throttle` with whether the sender is to wait.
    """

    def __init__(self, invite: Callable[[], None], throttle: Callable[[bool], None]) -> None:
        self._invite = invite
        self._throttle = throttle
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._is_asked = False
        self._is_throttled = False
        self._is_unwanted = False
        self._changed = asyncio.Event()
        self.is_ended = False

    def feed(self, data: bytes) -> None:
        """Take in a piece."""
        if self._is_unwanted:
            return
        self._pieces.append(data)
        self._unread += len(data)
        self._changed.set()
        if self._unread > MOST_UNREAD and not self._is_throttled:
            self._is_throttled = True
            self._throttle(True)

    def end(self) -> None:
        """Note that all of it is here."""
        self.is_ended = True
        self._changed.set()

    def discard(self) -> None:
        """Throw away what nobody will read."""
        self._is_unwanted = True
        self._pieces.clear()
        self._release()

    async def read(self) -> bytes:
        """All that has come since; none at the end."""
        if not self._is_asked:
            self._is_asked = True
            self._invite()
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
