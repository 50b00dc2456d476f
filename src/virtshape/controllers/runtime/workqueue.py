"""
Work queue: each key is queued once, processed by one worker at a time, and retried with back-off.

The queue is for use in one event loop.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from virtshape.telemetry.histogram import Histogram

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_SECONDS: Final = 0.005
MAX_RETRY_SECONDS: Final = 60.0


class WorkQueue(Generic[K]):
    """A queue of keys; a worker calls `done` when it has processed a key from `get`."""

    def __init__(self) -> None:
        self._ready: asyncio.Queue[K] = asyncio.Queue()
        self._queued: set[K] = set()
        self._processing: set[K] = set()
        self._delayed: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._count = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._queued_at: dict[K, float] = {}
        self.adds = 0
        """Number of keys that were added."""
        self.retries = 0
        """Number of keys that were queued again with back-off."""
        self.waits = Histogram()
        """How long keys waited until a worker took them."""

    def add(self, key: K) -> None:
        """Queue a key, unless it is queued already."""
        if key in self._queued:
            return
        self._queued.add(key)
        self._queued_at[key] = time.monotonic()
        self.adds += 1
        if key not in self._processing:
            self._ready.put_nowait(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Queue a key after a delay; if the key is already delayed, the earlier time applies."""
        if seconds <= 0:
            self.add(key)
            return
        due = asyncio.get_running_loop().time() + seconds
        if due < self._due.get(key, float("inf")):
            self._delay(key, due)

    def postpone(self, key: K, seconds: float) -> None:
        """Queue a key that is being processed after a delay, even if it was added again with a shorter delay."""
        if key in self._queued:
            self._queued.discard(key)
            del self._queued_at[key]
        self._delay(key, asyncio.get_running_loop().time() + seconds)

    def _delay(self, key: K, due: float) -> None:
        self._due[key] = due
        heapq.heappush(self._delayed, (due, next(self._count), key))
        if self._timer is None or self._delayed[0][0] == due:
            self._set_timer()

    def has_failed(self, key: K) -> bool:
        """Return True if the key has failed since `forget` was last called for it."""
        return key in self._failures

    def retry(self, key: K) -> float:
        """Queue a key again with exponential back-off; return the delay in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        seconds = min(FIRST_RETRY_SECONDS * 2.0 ** min(failures, 30), MAX_RETRY_SECONDS)
        self.add_after(key, seconds)
        return seconds

    def forget(self, key: K) -> None:
        """Reset the failure count of a key."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Wait for the next key and return it; other workers do not get this key until `done` is called."""
        key = await self._ready.get()
        self._queued.discard(key)
        self._processing.add(key)
        self.waits.add(time.monotonic() - self._queued_at.pop(key))
        return key

    def done(self, key: K) -> None:
        """Mark a key as processed; a key that was added in the meantime becomes ready again."""
        self._processing.discard(key)
        if key in self._queued:
            self._ready.put_nowait(key)

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
