"""Health and metrics endpoints of a component."""

from collections.abc import Awaitable

import pytest

from virtshape.apiserver.message import Request, Response
from virtshape.cluster.monitoring import Monitor
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.supervise.checks import PASSED, Check

MONITOR = Monitor(lambda: {"lease": Check("the lease is old"), "other": PASSED}, Scraper(list))

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


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/metrics", 200), ("GET", "/", 404), ("POST", "/metrics", 404)]
)
async def test_metrics_are_served_only_at_metrics_path(method: str, path: str, status: int) -> None:
    answer = MONITOR.answer_metrics(Request(method, path, {}))
    found = await answer if isinstance(answer, Awaitable) else answer
    assert isinstance(found, Response)
    assert found.status == status
