"""Metrics of a process, its tasks and its control loops, in Prometheus' text format."""

import os
import resource
import time
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from virtshape.controllers.runtime.counters import Histogram
from virtshape.controllers.runtime.loop import Loop
from virtshape.supervise.supervisor import Supervisor

PREFIX: Final = "virtshape_"
_STARTED: Final = time.time()
_STATM: Final = Path("/proc/self/statm")


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
    """Yield the samples of a histogram: cumulative buckets, sum and count."""
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


def list_process_metrics(component: str) -> list[Family]:
    """Return the metrics of the process: version, CPU time, memory, start time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    about = {"component": component, "version": version("virtshape")}
    return [
        Family(f"{PREFIX}build_info", "gauge", "Version of the running program.", (Sample(1, about),)),
        Family(
            "process_cpu_seconds_total",
            "counter",
            "CPU time used, in seconds.",
            (Sample(used.ru_utime + used.ru_stime),),
        ),
        Family("process_resident_memory_bytes", "gauge", "Memory in use, in bytes.", (Sample(_measure_memory()),)),
        Family(
            "process_start_time_seconds",
            "gauge",
            "Start time of the process in seconds since the Unix epoch.",
            (Sample(_STARTED),),
        ),
    ]


def list_leader_metrics(*, is_leading: bool) -> list[Family]:
    """Return the metric that shows whether this process is the leader."""
    text = "Whether this process is the leader (1) or a candidate (0)."
    return [Family(f"{PREFIX}leader", "gauge", text, (Sample(is_leading),))]


def list_task_metrics(supervisor: Supervisor) -> list[Family]:
    """Return the metrics of background tasks: whether they work, and their restarts."""
    checks = supervisor.list_checks()
    return [
        Family(
            f"{PREFIX}task_up",
            "gauge",
            "Whether all background tasks of this name work (1) or one of them fails (0).",
            tuple(Sample(check.passed, {"task": name}) for name, check in checks.items()),
        ),
        Family(
            f"{PREFIX}task_restarts_total",
            "counter",
            "Restarts of background tasks after a failure.",
            tuple(Sample(supervisor.restarts[name], {"task": name}) for name in checks),
        ),
    ]


def list_loop_metrics(loops: Iterable[Loop]) -> list[Family]:
    """Return the metrics of controllers: queue depth, outcomes and durations."""
    loops = list(loops)
    named = [(loop, {"controller": loop.title}) for loop in loops]
    return [
        Family(
            f"{PREFIX}queue_depth",
            "gauge",
            "Objects in the workqueue.",
            tuple(Sample(len(loop.queue), labels) for loop, labels in named),
        ),
        Family(
            f"{PREFIX}reconciles_total",
            "counter",
            "Reconciliations by outcome: done, again (requeued), raced (conflict, requeued), failed.",
            tuple(
                Sample(count, {**labels, "outcome": outcome})
                for loop, labels in named
                for outcome, count in loop.counters.outcomes.items()
            ),
        ),
        Family(
            f"{PREFIX}reconcile_duration_seconds",
            "histogram",
            "Duration of a reconciliation in seconds.",
            tuple(sample for loop, labels in named for sample in list_durations(loop.counters.durations, labels)),
        ),
    ]


def _measure_memory() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
