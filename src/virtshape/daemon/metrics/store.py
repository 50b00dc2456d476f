"""Metrics of the object store; the metrics for the database size and the object counts have kube-apiserver's names."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from virtshape.daemon.metrics.families import PREFIX, Family, Sample, list_durations
from virtshape.store.errors import DatabaseError
from virtshape.store.store import Store
from virtshape.store.summary import Summary, summarize


def list_store_metrics(store: Store) -> list[Family]:
    """Return the metrics of commits, writes and the database file; the file is read when the metrics are encoded."""
    counters = store.counters
    read = _make_reader(store.path)
    return [
        Family(
            f"{PREFIX}store_commit_duration_seconds",
            "histogram",
            "Duration of commits in seconds, until all writes of the commit are on disk.",
            tuple(list_durations(counters.commits)),
        ),
        Family(
            f"{PREFIX}store_writes_total",
            "counter",
            "Number of writes to the store by outcome: stored, conflict (an unexpected revision), failed.",
            tuple(Sample(count, {"outcome": outcome}) for outcome, count in counters.outcomes.items()),
        ),
        Family(f"{PREFIX}store_revision", "gauge", "Newest revision of the store.", (Sample(store.revision),)),
        Family(
            "apiserver_storage_size_bytes",
            "gauge",
            "Size of the database with its write-ahead log, in bytes.",
            _list_sizes(read),
        ),
        Family("apiserver_storage_objects", "gauge", "Number of stored objects by resource.", _list_objects(read)),
    ]


def _make_reader(path: Path) -> Callable[[], Summary | None]:
    @cache
    def read() -> Summary | None:
        try:
            return summarize(path)
        except DatabaseError:  # the health check `store` reports an unusable database
            return None

    return read


def _list_sizes(read: Callable[[], Summary | None]) -> Iterator[Sample]:
    if (summary := read()) is not None:
        yield Sample(summary.size)


def _list_objects(read: Callable[[], Summary | None]) -> Iterator[Sample]:
    if (summary := read()) is not None:
        for resource, count in summary.objects.items():
            yield Sample(count, {"resource": resource})
