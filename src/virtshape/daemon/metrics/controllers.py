"""Metrics of control loops, named as in client-go's work queues and in controller-runtime."""

from collections.abc import Iterable
from typing import Final

from virtshape.controllers.runtime.loop import Loop
from virtshape.daemon.metrics.families import Family, Sample, list_durations

RESULTS: Final = {"done": "success", "again": "requeue_after", "raced": "requeue", "failed": "error"}
"""The label `result` of controller-runtime for each outcome of a reconcile."""


def list_loop_metrics(loops: Iterable[Loop]) -> list[Family]:
    """Return the metrics of work queues and reconciles."""
    loops = list(loops)
    queues = [(loop.queue, {"name": loop.title}) for loop in loops]
    named = [(loop.counters, {"controller": loop.title}) for loop in loops]
    return [
        Family(
            "workqueue_depth",
            "gauge",
            "Number of objects that wait in the work queue.",
            tuple(Sample(len(queue), labels) for queue, labels in queues),
        ),
        Family(
            "workqueue_adds_total",
            "counter",
            "Number of objects added to the work queue.",
            tuple(Sample(queue.adds, labels) for queue, labels in queues),
        ),
        Family(
            "workqueue_retries_total",
            "counter",
            "Number of objects that were queued again after a failure or a conflict.",
            tuple(Sample(queue.retries, labels) for queue, labels in queues),
        ),
        Family(
            "workqueue_queue_duration_seconds",
            "histogram",
            "Time that objects waited in the work queue, in seconds.",
            tuple(sample for queue, labels in queues for sample in list_durations(queue.waits, labels)),
        ),
        Family(
            "controller_runtime_reconcile_total",
            "counter",
            "Number of reconciles by result: success, requeue_after (again after some time), requeue (again after a "
            "conflict with another writer), error.",
            tuple(
                Sample(count, {**labels, "result": RESULTS[outcome]})
                for counters, labels in named
                for outcome, count in counters.outcomes.items()
            ),
        ),
        Family(
            "controller_runtime_reconcile_time_seconds",
            "histogram",
            "Duration of a reconcile in seconds.",
            tuple(sample for counters, labels in named for sample in list_durations(counters.durations, labels)),
        ),
    ]
