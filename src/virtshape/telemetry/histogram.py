"""A histogram of durations; adding a duration takes a fraction of a microsecond."""

from bisect import bisect_left
from typing import Final

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets, in seconds."""


class Histogram:
    """The number of durations in each bucket, and their sum; the last bucket is for durations above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Add one duration."""
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.total += seconds
