"""Metrics in Prometheus' text format."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from virtshape.controllers.runtime.counters import Histogram


class Sample(Struct, frozen=True):
    """One value of a metric, with its labels."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Family(Struct, frozen=True):
    """A metric and all its samples."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...]


def render_metrics(families: Iterable[Family]) -> bytes:
    """Return the metrics in Prometheus' text format."""
    return "".join(line for family in families for line in _render_family(family)).encode()


def list_durations(durations: Histogram, labels: Mapping[str, str] | None = None) -> Iterator[Sample]:
    """Return the samples of a histogram."""
    own, below = dict(labels or {}), 0
    for bound, count in zip((*durations.bounds, float("inf")), durations.counts, strict=True):
        below += count
        yield Sample(below, {**own, "le": _format(bound)}, "_bucket")
    yield Sample(durations.total, own, "_sum")
    yield Sample(below, own, "_count")


def _render_family(family: Family) -> Iterator[str]:
    yield f"# HELP {family.name} {_escape(family.help)}\n"
    yield f"# TYPE {family.name} {family.type}\n"
    for sample in family.samples:
        labels = ",".join(f'{name}="{_escape(value, quotes=True)}"' for name, value in sample.labels.items())
        yield f"{family.name}{sample.suffix}{f'{{{labels}}}' if labels else ''} {_format(sample.value)}\n"


def _escape(text: str, *, quotes: bool = False) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quotes else escaped


def _format(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)
