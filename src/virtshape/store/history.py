"""How many bytes of history a store keeps: counted as changes are made, in coarse steps."""

from collections import deque
from typing import Final

DEFAULT_WINDOW_BYTES: Final = 256 * 1024 * 1024
_STEPS: Final = 64


class HistorySize:
    """
    Sums up what changes leave behind, and says from where on it is too much.

    A change counts as many bytes as the object has after it; what it replaced is usually of that size.
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
        """Return the newest revision to forget, so that the rest is within the limit; 0 if all of it is."""
        forgotten = 0
        while self._sum > self._limit:
            forgotten, size = self._steps.popleft()
            self._sum -= size
            if not self._steps:
                self._steps.append((forgotten, 0))
        return forgotten
