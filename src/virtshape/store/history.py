"""Size of the history that a store keeps, counted in coarse steps as changes are made."""

from collections import deque
from typing import Final

DEFAULT_WINDOW_BYTES: Final = 256 * 1024 * 1024
_STEPS: Final = 64


class HistorySize:
    """
    Adds up the bytes of changes, and determines the revision up to which to compact.

    A change counts the size of the object after it; the replaced object usually has about the same size.
    """

    def __init__(self, limit: int, revision: int, size: int = 0) -> None:
        self._limit = limit
        self._steps: deque[tuple[int, int]] = deque([(revision, size)])  # the last revision of each step, and its bytes
        self._sum = size

    def add(self, revision: int, size: int) -> None:
        """Count a change."""
        self._sum += size
        last, counted = self._steps[-1]
        if counted + size > self._limit // _STEPS:
            self._steps.append((revision, size))
        else:
            self._steps[-1] = (max(last, revision), counted + size)

    def take_surplus(self) -> int:
        """Stop counting the oldest changes beyond the limit; return the last revision among them, or 0."""
        forgotten = 0
        while self._sum > self._limit:
            forgotten, size = self._steps.popleft()
            self._sum -= size
            if not self._steps:
                self._steps.append((forgotten, 0))
        return forgotten
