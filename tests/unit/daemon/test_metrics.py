"""Metrics in the Prometheus text format, and health endpoints."""

import pytest

from virtshape.apiserver.message import Request
from virtshape.cluster.monitoring import Monitor
from virtshape.controllers.runtime.counters import Histogram
from virtshape.controllers.runtime.loop import DONE, Loop, Name, Result
from virtshape.daemon.metrics import (
    Family,
    Sample,
    list_durations,
    list_leader_metrics,
    list_loop_metrics,
    list_process_metrics,
    render_metrics,
)
from virtshape.supervise.checks import PASSED, Check


def test_metric_is_rendered_in_text_format() -> None:
    family = Family("x_total", "counter", "What\nit is.", (Sample(3, {"a": 'q"\\'}), Sample(0.5)))
    assert render_metrics([family]).decode() == (
        '# HELP x_total What\\nit is.\n# TYPE x_total counter\nx_total{a="q\\"\\\\"} 3\nx_total 0.5\n'
    )


def test_histogram_buckets_are_cumulative() -> None:
    durations = Histogram((0.1, 1.0))
    for seconds in (0.05, 0.1, 0.5, 7.0):
        durations.add(seconds)
    assert [(one.suffix, one.labels.get("le"), one.value) for one in list_durations(durations)] == [
        ("_bucket", "0.1", 2),
        ("_bucket", "1", 3),
        ("_bucket", "+Inf", 4),
        ("_sum", None, pytest.approx(7.65)),
        ("_count", None, 4),
    ]


async def look(_: Name) -> Result:
    return DONE


def test_controller_metrics_are_exported() -> None:
    loop = Loop("vm", look)
    loop.queue.add(Name("a", "b"))
    loop.counters.outcomes["failed"] += 2
    text = render_metrics([*list_loop_metrics([loop]), *list_leader_metrics(is_leading=True)]).decode()
    assert 'virtshape_queue_depth{controller="vm"} 1\n' in text
    assert 'virtshape_reconciles_total{controller="vm",outcome="failed"} 2\n' in text
    assert 'virtshape_reconcile_duration_seconds_count{controller="vm"} 0\n' in text
    assert "virtshape_leader 1\n" in text


def test_process_metrics_are_exported() -> None:
    text = render_metrics(list_process_metrics("controller")).decode()
    assert 'component="controller"' in text
    assert "process_resident_memory_bytes" in text


MONITOR = Monitor(lambda: {"lease": Check("the lease is old"), "other": PASSED}, list)

PROBES = {
    "alive": ("/livez", 200, "ok"),
    "deprecated healthz": ("/healthz", 200, "ok"),
    "not ready": ("/readyz", 500, "[-]lease failed: reason withheld\n[+]other ok\nreadyz check failed\n"),
    "one check": ("/readyz/other", 200, "ok"),
    "one check that fails": ("/readyz/lease", 500, "internal server error: the lease is old\n"),
    "unknown check": ("/readyz/none", 404, "404 page not found\n"),
    "other path": ("/metrics", 404, "404 page not found\n"),
}


@pytest.mark.parametrize(("path", "status", "text"), PROBES.values(), ids=PROBES.keys())
def test_health_probe_returns_the_result_of_its_checks(path: str, status: int, text: str) -> None:
    answer = MONITOR.answer_health(Request("GET", path, {}))
    assert (answer.status, answer.body.decode()) == (status, text)


@pytest.mark.parametrize(("path", "status"), [("/metrics", 200), ("/", 404)])
def test_metrics_are_served_only_at_metrics_path(path: str, status: int) -> None:
    assert MONITOR.answer_metrics(Request("GET", path, {})).status == status
