"""The aggregated API component: a process that serves VM subresources. Any number of replicas may run."""

from collections.abc import Callable
from typing import Final

from virtshape.apiserver.discovery.publishing import Publisher
from virtshape.apiserver.subresources.dispatch import Actions
from virtshape.apiserver.subresources.volumes import NOT_ON_CLUSTERS
from virtshape.apiserver.supportedverbs import ACTION_GROUP, ACTION_VERSIONS
from virtshape.client.access import Access
from virtshape.client.informer import Informers
from virtshape.client.protocol import Client
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.aggregated.handler import GROUPS, AggregatedServer
from virtshape.cluster.aggregated.identity import FrontProxy, get_front_proxy
from virtshape.cluster.aggregated.objects import ClusterObjects
from virtshape.cluster.aggregated.streams import PodGuestStreams
from virtshape.cluster.component import Ready, Server, Settings, list_component_checks, open_connection, serve
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.tls.cainjection import InjectionTarget, api_service_target
from virtshape.cluster.tls.renewal import CertificateRenewer
from virtshape.controllers.runtime.clients import TrimmingClient
from virtshape.daemon.metrics.process import list_build_metrics
from virtshape.daemon.metrics.requests import list_request_metrics
from virtshape.daemon.planner import ControllerPlanner
from virtshape.offline.importpreview import preview_import
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "apiserver"
MANAGER: Final = "virt-api"


class FrontProxySource:
    """The cluster's front proxy settings, as last read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.current = FrontProxy()

    async def refresh(self) -> bytes:
        """Read the settings again; return the CA of the front proxy's client certificates."""
        self.current = await get_front_proxy(self._client)
        return self.current.authority


async def run(settings: Settings, access: Access, on_ready: Callable[[Ready], None]) -> None:
    """Serve the subresource API until cancelled."""
    supervisor = Supervisor()
    async with open_connection(access, MANAGER) as api:
        informers = Informers(TrimmingClient(api.client))
        context = AdmissionContext(api.client, informers)
        proxies = FrontProxySource(api.client)
        streams = PodGuestStreams(api.transport, api.client)
        planner = ControllerPlanner(lambda: api.client, preview_import)
        actions = Actions(ClusterObjects(api.client, context), planner, streams, no_hotplug=NOT_ON_CLUSTERS)
        publisher = Publisher("", lambda: list_component_checks(informers, supervisor), GROUPS)
        source = settings.tls.get_source(api.client, COMPONENT)
        handler = AggregatedServer(actions, DelegatedAuthorizer(api.client), lambda: proxies.current, publisher)
        server = Server(
            handler.handle,
            informers,
            CertificateRenewer(api.client, source, list_injection_targets(), proxies.refresh),
            lambda: [*list_build_metrics(COMPONENT), *list_request_metrics(handler.requests)],
            supervisor,
            authenticate=handler.authenticate,
        )
        await serve(server, settings, on_ready)


def list_injection_targets() -> list[InjectionTarget]:
    """Return the APIServices whose CA bundle must contain our CA certificate."""
    return [api_service_target(f"{version}.{ACTION_GROUP}") for version in ACTION_VERSIONS]
