"""
The console component: a process that serves the web console inside a cluster.

The process keeps sessions in memory, so exactly one replica runs. The service account of the component has only the
permission to renew the serving certificate.
"""

from collections.abc import Callable
from typing import Final

from virtshape.client.access import Access
from virtshape.client.informer import Informers
from virtshape.cluster.component import Ready, Server, Settings, open_connection, serve
from virtshape.cluster.console.proxy import ConsoleProxy
from virtshape.cluster.tls.renewal import CertificateRenewer
from virtshape.daemon.metrics.process import list_build_metrics
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "console"
MANAGER: Final = "virtshape-console"


async def run(settings: Settings, access: Access, on_ready: Callable[[Ready], None]) -> None:
    """Serve the console until cancelled."""
    supervisor = Supervisor()
    async with open_connection(access, MANAGER) as api:
        proxy = ConsoleProxy(access)
        source = settings.tls.get_source(api.client, COMPONENT)
        server = Server(
            proxy.handle,
            Informers(api.client),  # no informer is started: the page reads every object with the token of its user
            CertificateRenewer(api.client, source),
            lambda: list_build_metrics(COMPONENT),
            supervisor,
            authenticate=proxy.authenticate,
        )
        try:
            await serve(server, settings, on_ready)
        finally:
            await proxy.close()
