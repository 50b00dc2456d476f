"""Counters of reconcile outcomes and durations for the metrics endpoint."""

from bisect import bisect_left
from typing import Final

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram buckets, in seconds."""


class Histogram:
    """A histogram of durations."""

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Add one duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """Number of durations."""
        return sum(self.counts)


class LoopCounters:
    """Outcomes and durations of one control loop."""

    def __init__(self) -> None:
        self.outcomes = {"done": 0, "again": 0, "raced": 0, "failed": 0}
        """Numbers of reconciles that succeeded, were requeued, conflicted with another writer, or failed."""
        self.durations = Histogram()
