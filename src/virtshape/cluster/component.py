"""Lifecycle of a component on a cluster: API connection, signals, certificate, informers, listener and monitoring."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from msgspec import Struct

from virtshape.apiserver.http import Handler
from virtshape.apiserver.limits import MAX_BODY_BYTES
from virtshape.apiserver.listener import Authenticate, Listener
from virtshape.apiserver.parsing import FindLimit
from virtshape.client.access import Access
from virtshape.client.http import HttpTransport
from virtshape.client.informer import Informers
from virtshape.client.rest import RestClient
from virtshape.cluster.manifests.naming import HEALTH_PORT, HTTPS_PORT, METRICS_PORT
from virtshape.cluster.monitoring import Monitor, serve_monitoring
from virtshape.cluster.tls.renewal import CertificateRenewer
from virtshape.cluster.tls.sources import CertificateOptions
from virtshape.daemon.logs import is_access_logged, log_requests
from virtshape.daemon.metrics.process import list_task_metrics
from virtshape.daemon.metrics.scrape import ListFamilies, Scraper
from virtshape.daemon.tuning import tune_process
from virtshape.supervise.checks import PASSED, Check
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import CERTIFICATES

_log = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 10.0


class Ports(Struct, frozen=True, kw_only=True):
    """The address and ports of the health and metrics endpoints; an empty host means all addresses."""

    host: str = ""
    health: int = HEALTH_PORT
    metrics: int = METRICS_PORT


class Settings(Struct, frozen=True, kw_only=True):
    """Options of a component."""

    tls: CertificateOptions
    port: int = HTTPS_PORT
    ports: Ports = Ports()
    shutdown_delay: float = 0.0
    """Seconds to keep serving after a signal, until the cluster stops sending requests to this process."""


class Ready(Struct, frozen=True):
    """The ports of a component that is ready."""

    port: int
    health_port: int
    metrics_port: int


class Server(Struct, frozen=True):
    """The request handler of a component, with its informers, certificates, metrics and background tasks."""

    handle: Handler
    informers: Informers
    certificates: CertificateRenewer
    list_metrics: ListFamilies
    supervisor: Supervisor
    get_limit: FindLimit = lambda _: MAX_BODY_BYTES
    authenticate: Authenticate = lambda _: None


async def serve(server: Server, settings: Settings, on_ready: Callable[[Ready], None]) -> None:
    """
    Serve requests until cancelled; then report not ready, keep serving for the shutdown delay, and close.

    A second cancellation ends the delay.
    """
    serving: list[int] = []
    supervisor = server.supervisor

    def list_checks() -> dict[str, Check]:
        return {
            **list_component_checks(server.informers, supervisor),
            "certificate": PASSED if serving else Check("no serving certificate is available yet"),
            "shutdown": Check("the process is shutting down") if listener.is_draining else PASSED,
        }

    scraper = Scraper(lambda: [*server.list_metrics(), *list_task_metrics(supervisor)])
    monitor = Monitor(list_checks, scraper)
    handle = log_requests(server.handle) if is_access_logged() else server.handle
    listener = Listener(handle, get_limit=server.get_limit, authenticate=server.authenticate)
    ports = settings.ports
    async with (
        serve_monitoring(monitor, ports.host, ports.health, ports.metrics) as (health, metrics),
        server.informers.running(supervisor),
        supervisor.running(CERTIFICATES, server.certificates.run),
    ):
        context = await server.certificates.wait()
        await server.informers.wait()
        try:
            serving.append(await listener.start(ports.host, settings.port, context))
            tune_process()
            on_ready(Ready(serving[0], health, metrics))
            await asyncio.Event().wait()
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await listener.drain(settings.shutdown_delay)
            await listener.stop(DRAIN_SECONDS)


def list_component_checks(informers: Informers, supervisor: Supervisor) -> dict[str, Check]:
    """Return the checks that all components have: background tasks and synced informers."""
    synced = PASSED if informers.are_synced else Check("informers have not synced yet")
    return {"informers-synced": synced, **supervisor.list_checks()}


class ApiConnection(Struct, frozen=True):
    """A connection to the cluster's API server."""

    transport: HttpTransport
    client: RestClient


@contextlib.asynccontextmanager
async def open_connection(access: Access, manager: str) -> AsyncIterator[ApiConnection]:
    """Connect to the cluster during the `async with` block; `manager` is the field manager of its writes."""
    transport = HttpTransport(access)
    client = RestClient(
        transport, manager=manager, warn=lambda text: _log.warning("%s", text), with_managed_fields=False
    )
    try:
        yield ApiConnection(transport, client)
    finally:
        await client.close()


async def run_until_signalled(work: Awaitable[None]) -> None:
    """Run the work until SIGTERM or SIGINT, then cancel it and wait until it has ended."""
    working = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _end, working, number)
    try:
        await working
    except asyncio.CancelledError:
        if not working.cancelled():
            raise


def _end(working: "asyncio.Future[None]", number: int) -> None:
    _log.info("stopping after %s", signal.Signals(number).name)
    working.cancel()
