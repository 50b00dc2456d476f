"""
The subresource API as a process on a cluster: any number may run, and each answers by itself.

Put together here; nothing is decided here.
"""

from collections.abc import Callable
from typing import Final

from virtshape.apiserver.capability import ACTION_GROUP, ACTION_VERSIONS
from virtshape.apiserver.discovery.publishing import Publisher
from virtshape.apiserver.subresources.dispatch import Actions
from virtshape.client.access import Access
from virtshape.client.informers import Informers
from virtshape.client.protocol import Client
from virtshape.cluster.admissioncontext import Surroundings
from virtshape.cluster.aggregated.answering import GROUPS, AggregatedServer
from virtshape.cluster.aggregated.door import PodDoor
from virtshape.cluster.aggregated.identity import FrontProxy, find_front_proxy
from virtshape.cluster.aggregated.shelf import ClusterShelf
from virtshape.cluster.component import Ready, Server, Settings, list_component_checks, serve
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.process import connected
from virtshape.cluster.tls.keeping import CertificateKeeper
from virtshape.cluster.tls.trust import Truster, trust_api_service
from virtshape.controllers.runtime.trimming import SlimClient
from virtshape.daemon.processmetrics import list_process_figures
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "apiserver"
MANAGER: Final = "virt-api"


class Proxies:
    """The front proxy as the cluster last described it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.current = FrontProxy()

    async def look(self) -> bytes:
        """Ask the cluster again; the authority of clients that may speak for others."""
        self.current = await find_front_proxy(self._client)
        return self.current.authority


async def run(settings: Settings, access: Access, announce: Callable[[Ready], None]) -> None:
    """Answer until cancelled."""
    supervisor = Supervisor()
    async with connected(access, MANAGER) as line:
        informers = Informers(SlimClient(line.client))
        surroundings = Surroundings(line.client, informers)
        proxies = Proxies(line.client)
        actions = Actions(ClusterShelf(line.client, surroundings), PodDoor(line.transport, line.client))
        publisher = Publisher("", lambda: list_component_checks(surroundings, supervisor), GROUPS)
        source = settings.tls.find_source(line.client, COMPONENT)
        answering = AggregatedServer(actions, DelegatedAuthorizer(line.client), lambda: proxies.current, publisher)
        server = Server(
            answering.handle,
            informers,
            surroundings,
            CertificateKeeper(line.client, source, list_trusters(), proxies.look),
            lambda: list_process_figures(COMPONENT),
            supervisor,
            authenticate=answering.authenticate,
        )
        await serve(server, settings, announce)


def list_trusters() -> list[Truster]:
    """The objects that have the API server pass requests on to us."""
    return [trust_api_service(f"{version}.{ACTION_GROUP}") for version in ACTION_VERSIONS]
