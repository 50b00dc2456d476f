"""
Memory that the connections of one listener may hold: large request bodies on the way in, responses on the way out.

Bodies beyond the limit are refused. Responses are never refused, since the request is done by then: instead, the
connection that has gone longest without reading anything is aborted until the total is below the limit again.
"""

from collections.abc import Callable
from typing import Final

MOST_RECEIVED: Final = 256 * 1024 * 1024
"""Bytes of large request bodies, from their heads until they are answered."""
MOST_UNSENT: Final = 256 * 1024 * 1024
"""Bytes of responses that clients have not read."""

Abort = Callable[[], None]


class MemoryBudget:
    """Counts what the connections of a listener hold."""

    def __init__(self, most_received: int = MOST_RECEIVED, most_unsent: int = MOST_UNSENT) -> None:
        self._most_received = most_received
        self._most_unsent = most_unsent
        self.received = 0
        self.unsent = 0
        self._readers: dict[Abort, int] = {}  # the one that read last is last

    def reserve(self, size: int) -> bool:
        """Count a request body before it is read; False if there is no room for it."""
        if self.received and self.received + size > self._most_received:
            return False
        self.received += size
        return True

    def release(self, size: int) -> None:
        """Stop counting a request body."""
        self.received -= size

    def hold(self, abort: Abort, size: int) -> None:
        """Note how much of its responses a connection has yet to send; it has just been given some or sent some."""
        self.unsent += size - self._readers.pop(abort, 0)
        self._readers[abort] = size
        while self.unsent > self._most_unsent and len(self._readers) > 1:
            slowest = next(iter(self._readers))
            self.drop(slowest)
            slowest()

    def drop(self, abort: Abort) -> None:
        """Note that a connection has sent everything, or is gone."""
        self.unsent -= self._readers.pop(abort, 0)
