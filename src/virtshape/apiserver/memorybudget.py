"""
Memory limit for all connections of a listener: large request bodies and unsent responses.

Bodies beyond the limit are rejected. Responses are never rejected, because their requests have already been handled.
Instead, connections are aborted until the total is below the limit, starting with the one whose client has not read
for the longest time.
"""

from collections.abc import Callable
from typing import Final

MAX_RECEIVED_BYTES: Final = 256 * 1024 * 1024
"""Maximum total size of large request bodies; a body counts from the end of its headers until its response."""
MAX_UNSENT_BYTES: Final = 256 * 1024 * 1024
"""Maximum total size of responses that clients have not read."""

Abort = Callable[[], None]


class MemoryBudget:
    """Counts and limits the memory that a listener's connections use."""

    def __init__(self, max_received: int = MAX_RECEIVED_BYTES, max_unsent: int = MAX_UNSENT_BYTES) -> None:
        self._max_received = max_received
        self._max_unsent = max_unsent
        self.received = 0
        self.unsent = 0
        self._readers: dict[Abort, int] = {}  # ordered by when the client last read; the most recent is last

    def reserve(self, size: int) -> bool:
        """Count a request body before it is read; return False if the total would exceed the limit."""
        if self.received and self.received + size > self._max_received:
            return False
        self.received += size
        return True

    def release(self, size: int) -> None:
        """Stop counting a request body."""
        self.received -= size

    def hold(self, abort: Abort, size: int) -> None:
        """Set a connection's unsent bytes; abort the slowest other connections while the total exceeds the limit."""
        self.unsent += size - self._readers.pop(abort, 0)
        self._readers[abort] = size
        while self.unsent > self._max_unsent and len(self._readers) > 1:
            slowest = next(iter(self._readers))
            self.drop(slowest)
            slowest()

    def drop(self, abort: Abort) -> None:
        """Stop counting a connection that has sent everything or has closed."""
        self.unsent -= self._readers.pop(abort, 0)
