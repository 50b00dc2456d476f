"""
Work queue: each key is queued once, processed by one worker at a time, and retried with back-off.

The queue is for use in one event loop.
"""

import asyncio
import heapq
import itertools
from collections import deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 60.0


class WorkQueue(Generic[K]):
    """A queue of keys; call `done` after `get`."""

    def __init__(self) -> None:
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()
        self._processing: set[K] = set()
        self._delayed: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._count = itertools.count()
        self._added = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, key: K) -> None:
        """Queue a key, unless it is queued already."""
        if key in self._queued:
            return
        self._queued.add(key)
        if key not in self._processing:
            self._ready.append(key)
            self._added.set()

    def add_after(self, key: K, seconds: float) -> None:
        """Queue a key after a delay; if it is delayed already, the earlier time counts."""
        if seconds <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + seconds
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._count), key))
        self._set_timer()

    def has_failed(self, key: K) -> bool:
        """Return True if the key has failed since `forget` was last called for it."""
        return key in self._failures

    def retry(self, key: K) -> float:
        """Queue a key again with exponential back-off; return the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        seconds = min(FIRST_RETRY_SECONDS * 2.0 ** min(failures, 30), MAX_RETRY_SECONDS)
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """Reset the failure count of a key."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Wait for the next key and return it; other workers do not get it until `done` is called."""
        while not self._ready:
            self._added.clear()
            await self._added.wait()
        key = self._ready.popleft()
        self._queued.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: K) -> None:
        """Mark a key as processed; if it was added in the meantime, it becomes ready again."""
        self._processing.discard(key)
        if key in self._queued:
            self._ready.append(key)
            self._added.set()

    def __len__(self) -> int:
        return len(self._queued)

    def close(self) -> None:
        """Cancel the timer of delayed keys."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._delayed:
            self._timer = asyncio.get_running_loop().call_at(self._delayed[0][0], self._add_due)

    def _add_due(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time() + 0.001
        while self._delayed and self._delayed[0][0] <= now:
            due, _, key = heapq.heappop(self._delayed)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        self._set_timer()
