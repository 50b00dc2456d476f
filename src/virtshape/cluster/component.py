"""Lifecycle of a component that serves HTTPS on a cluster: certificate, informers, listener and monitoring."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from virtshape.apiserver.http import Authenticate, Handler, Listener
from virtshape.apiserver.limits import MAX_BODY_BYTES
from virtshape.client.informer import Informers
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.manifests.naming import HTTPS_PORT
from virtshape.cluster.monitoring import Monitor, serve_monitoring
from virtshape.cluster.process import Ports
from virtshape.cluster.tls.renewal import CertificateRenewer
from virtshape.cluster.tls.sources import CertificateOptions
from virtshape.daemon.garbagecollection import tune_garbage_collection
from virtshape.daemon.logs import is_access_logged, log_requests
from virtshape.daemon.metrics import Family
from virtshape.daemon.processmetrics import list_task_metrics
from virtshape.supervise.checks import PASSED, Check
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import CERTIFICATES

DRAIN_SECONDS: Final = 10.0


class Settings(Struct, frozen=True, kw_only=True):
    """Options of a component."""

    tls: CertificateOptions
    port: int = HTTPS_PORT
    ports: Ports = Ports()


class Ready(Struct, frozen=True):
    """The ports of a component that is ready."""

    port: int
    health_port: int
    metrics_port: int


class Server(Struct, frozen=True):
    """The request handler of a component and everything it needs."""

    handle: Handler
    informers: Informers
    context: AdmissionContext
    certificates: CertificateRenewer
    list_metrics: Callable[[], Iterable[Family]]
    supervisor: Supervisor
    largest_body: int = MAX_BODY_BYTES
    authenticate: Authenticate = lambda _: None


async def serve(server: Server, settings: Settings, announce: Callable[[Ready], None]) -> None:
    """Serve requests until cancelled, then wait for those in flight."""
    serving: list[int] = []
    supervisor = server.supervisor

    def list_checks() -> dict[str, Check]:
        checks = list_component_checks(server.context, supervisor)
        return {**checks, "certificate": PASSED if serving else Check("no serving certificate is available yet")}

    monitor = Monitor(list_checks, lambda: [*server.list_metrics(), *list_task_metrics(supervisor)])
    handle = log_requests(server.handle) if is_access_logged() else server.handle
    listener = Listener(handle, largest_body=server.largest_body, authenticate=server.authenticate)
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
            tune_garbage_collection()
            announce(Ready(serving[0], health, metrics))
            await asyncio.Event().wait()
        finally:
            serving.clear()
            await listener.stop(DRAIN_SECONDS)


def list_component_checks(context: AdmissionContext, supervisor: Supervisor) -> dict[str, Check]:
    """Return the checks that all components have: background tasks and synced informers."""
    synced = PASSED if context.is_ready else Check("informers have not synced yet")
    return {"informers-synced": synced, **supervisor.list_checks()}
