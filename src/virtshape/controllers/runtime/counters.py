"""
Counts of work done: how much, how long it took, how often it failed.

Only counts; who reads them is not known here.
"""

from bisect import bisect_left
from typing import Final

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds; each is the upper end of a class of durations."""


class Histogram:
    """How many durations fell into each class, and how much they are together."""

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.counts)


class LoopCounters:
    """What became of the work of one loop."""

    def __init__(self) -> None:
        self.outcomes = {"done": 0, "again": 0, "raced": 0, "failed": 0}
        """Done; to be looked at again later; somebody else was faster; went wrong."""
        self.durations = Histogram()
