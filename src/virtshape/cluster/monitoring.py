"""Health and metrics endpoints of a component, served over plain HTTP to probes and Prometheus."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from msgspec import Struct

from virtshape.apiserver.discovery.health import answer_check, answer_health
from virtshape.apiserver.http import Handler
from virtshape.apiserver.listener import Listener
from virtshape.apiserver.message import PLAIN_TEXT, Request, Response
from virtshape.apiserver.responses import NO_CACHE, build_not_found_response
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.supervise.checks import PASSED, Checks

LIVENESS: Final = ("livez", "healthz")
READINESS: Final = "readyz"
STOP_SECONDS: Final = 2.0


class Monitor(Struct, frozen=True):
    """Readiness checks, liveness checks and metrics of a process."""

    is_ready: Checks
    scraper: Scraper
    is_alive: Checks = lambda: {"ping": PASSED}

    def answer_health(self, request: Request) -> Response:
        """Respond to a health probe."""
        endpoint, _, name = request.path.strip("/").partition("/")
        if request.method not in ("GET", "HEAD") or endpoint not in (*LIVENESS, READINESS):
            return build_not_found_response()
        checks = self.is_ready() if endpoint == READINESS else self.is_alive()
        if name and name not in checks:
            return build_not_found_response()
        excluded = request.query.get("exclude", [])
        verbose = "verbose" in request.query
        health = (
            answer_check(checks[name], reveal=True)
            if name
            else answer_health(endpoint, checks, verbose=verbose, excluded=excluded)
        )
        return Response(health.status, health.text.encode(), PLAIN_TEXT, NO_CACHE)

    def answer_metrics(self, request: Request) -> Response | Awaitable[Response]:
        """Respond to a Prometheus scrape."""
        if request.method not in ("GET", "HEAD") or request.path != "/metrics":
            return build_not_found_response()
        return self.scraper.answer(request)


@asynccontextmanager
async def serve_monitoring(
    monitor: Monitor, host: str, health_port: int, metrics_port: int
) -> AsyncIterator[tuple[int, int]]:
    """Serve health and metrics during the `async with` block; yield both ports. Port 0 means any free port."""
    async with AsyncExitStack() as stack:
        health = await stack.enter_async_context(_listening(monitor.answer_health, host, health_port))
        yield health, await stack.enter_async_context(_listening(monitor.answer_metrics, host, metrics_port))


@asynccontextmanager
async def _listening(handler: Handler, host: str, port: int) -> AsyncIterator[int]:
    listener = Listener(handler)
    try:
        yield await listener.start(host, port, None)
    finally:
        await listener.stop(STOP_SECONDS)
