"""
Metric families as plain data.

A family is built on the event loop from counters, and encoded by prometheus_client in a thread (`exposition`). A family
with many samples has an iterator that creates them in that thread.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec import Struct

from virtshape.telemetry.histogram import Histogram

PREFIX: Final = "virtshape_"


class Sample(Struct, frozen=True):
    """One value of a metric, with its labels."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Family(Struct, frozen=True):
    """A metric and all its samples; the name of a counter ends with `_total`."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Iterable[Sample] = ()
    lines: Iterable[bytes] = ()
    """Further samples, already encoded by `exposition.render_samples`."""


def list_durations(durations: Histogram, labels: Mapping[str, str] | None = None) -> Iterator[Sample]:
    """Yield the samples of a histogram: cumulative buckets, sum and count."""
    own, below = dict(labels or {}), 0
    for bound, count in zip((*durations.bounds, float("inf")), durations.counts, strict=True):
        below += count
        yield Sample(below, {**own, "le": "+Inf" if bound == float("inf") else repr(float(bound))}, "_bucket")
    yield Sample(durations.total, own, "_sum")
    yield Sample(below, own, "_count")
