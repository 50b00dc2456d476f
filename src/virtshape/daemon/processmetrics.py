"""
What our processes on a cluster have to tell in figures: of themselves, and of their controllers.

Reads counters that are there anyway; counts nothing itself.
"""

import os
import resource
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

from virtshape.controllers.runtime.loop import Loop
from virtshape.daemon.metrics import Family, Sample, list_durations
from virtshape.supervise.supervisor import Supervisor

PREFIX: Final = "virtshape_"
_BEGAN: Final = time.time()
_STATM: Final = Path("/proc/self/statm")


def list_process_metrics(component: str) -> list[Family]:
    """The process: its release, its time, its memory."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    about = {"component": component, "version": version("virtshape")}
    return [
        Family(f"{PREFIX}build_info", "gauge", "The release that runs.", (Sample(1, about),)),
        Family(
            "process_cpu_seconds_total",
            "counter",
            "CPU time used, in seconds.",
            (Sample(used.ru_utime + used.ru_stime),),
        ),
        Family("process_resident_memory_bytes", "gauge", "Memory in use, in bytes.", (Sample(_measure_memory()),)),
        Family(
            "process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.", (Sample(_BEGAN),)
        ),
    ]


def list_leader_metrics(*, is_leading: bool) -> list[Family]:
    """Whether this process is the one at work."""
    words = "Whether this process is the one at work."
    return [Family(f"{PREFIX}leader", "gauge", words, (Sample(is_leading),))]


def list_task_metrics(supervisor: Supervisor) -> list[Family]:
    """The background tasks: which of them work, and how often they were restarted."""
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
    """The controllers: what waits, what was done, how long it took."""
    loops = list(loops)
    named = [(loop, {"controller": loop.title}) for loop in loops]
    return [
        Family(
            f"{PREFIX}queue_depth",
            "gauge",
            "Objects that wait to be looked at.",
            tuple(Sample(len(loop.queue), labels) for loop, labels in named),
        ),
        Family(
            f"{PREFIX}reconciles_total",
            "counter",
            "Objects looked at, by what came of it: done, again (later), raced (somebody was faster), failed.",
            tuple(
                Sample(count, {**labels, "outcome": outcome})
                for loop, labels in named
                for outcome, count in loop.counters.outcomes.items()
            ),
        ),
        Family(
            f"{PREFIX}reconcile_duration_seconds",
            "histogram",
            "Time that one look takes, in seconds.",
            tuple(sample for loop, labels in named for sample in list_durations(loop.counters.durations, labels)),
        ),
    ]


def _measure_memory() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
