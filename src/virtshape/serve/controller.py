"""
The controllers as a process of their own on a cluster: several may run, and one of them is at work.

Put together here; nothing is decided here. A process that loses the lease stops its controllers and stands again.
"""

import asyncio
import logging
import platform
import uuid
from collections.abc import Callable, Iterable
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.status import StatusError
from virtshape.client.access import Access
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.protocol import Client
from virtshape.control.controllers import Controllers, make_informers
from virtshape.control.election import Elector, Terms
from virtshape.control.fencing import FencedClient
from virtshape.control.pods.launcher import PodLauncher
from virtshape.serve.cycles import spare_collections
from virtshape.serve.figures import list_leader_figures, list_loop_figures, list_process_figures
from virtshape.serve.furnishing import furnish
from virtshape.serve.metrics import Family
from virtshape.serve.monitoring import Monitor, monitored
from virtshape.serve.process import Ports, connected

COMPONENT: Final = "controller"
LEASE: Final = "virtshape-controller"
MANAGER: Final = "virt-controller"
RETRY_SECONDS: Final = 1.0
NO_RUNTIME: Final = "the controllers were started with --runtime=none"
RuntimeName = Literal["pod", "none"]
_log = logging.getLogger(__name__)


class Settings(Struct, frozen=True, kw_only=True):
    """How to run."""

    namespace: str
    runtime: RuntimeName = "pod"
    launcher_image: str = ""
    catalog: bool = False
    ports: Ports = Ports()
    terms: Terms = Terms()


class Ready(Struct, frozen=True):
    """Where the process is asked how it is, and what it counts."""

    health_port: int
    metrics_port: int


async def run(settings: Settings, access: Access, announce: Callable[[Ready], None]) -> None:
    """Control whenever it is this process's turn, until cancelled."""
    # A line of its own for the lease, so that signs of life never wait for work.
    async with connected(access, MANAGER) as line, connected(access, MANAGER) as quick:
        post = Post(line.client, quick.client, settings)
        monitor = Monitor(post.list_checks, post.list_figures)
        ports = settings.ports
        async with monitored(monitor, ports.host, ports.health, ports.metrics) as (health, metrics):
            announce(Ready(health, metrics))
            await post.hold()


class Post:
    """The work that one process at a time does."""

    def __init__(self, client: Client, lease_client: Client, settings: Settings, identity: str = "") -> None:
        self._client = client
        self._settings = settings
        identity = identity or f"{platform.node()}_{uuid.uuid4()}"
        self._elector = Elector(lease_client, LEASE, settings.namespace, identity, settings.terms)
        self._controllers: Controllers | None = None
        self._is_at_work = False

    async def hold(self) -> None:
        """Stand for election, work, and stand again, until cancelled."""
        while True:
            try:
                await self._elector.lead(self._work)
            except (StatusError, UnreachableError, ConfigError) as error:
                _log.error("the controllers cannot go on: %s", error)
            await asyncio.sleep(RETRY_SECONDS)

    def list_checks(self) -> dict[str, bool]:
        """Whether the process can do its work: it hears from the cluster, and whoever leads is at work."""
        return {"lease": self._elector.is_in_touch, "controllers": not self._elector.is_leading or self._is_at_work}

    def list_figures(self) -> Iterable[Family]:
        """The figures of the process and of its controllers."""
        loops = self._controllers.loops if self._controllers is not None else ()
        return [
            *list_process_figures(COMPONENT),
            *list_leader_figures(is_leading=self._elector.is_leading),
            *list_loop_figures(loops),
        ]

    async def _work(self) -> None:
        client: Client = FencedClient(self._client, lambda: self._elector.is_leading)
        controllers = self._controllers = self._make_controllers(client)
        furnishing = asyncio.create_task(furnish(client, with_catalog=self._settings.catalog), name="furnishing")
        try:
            async with controllers.running():
                self._is_at_work = True
                spare_collections()
                _log.info("the controllers are at work")
                await asyncio.Event().wait()
        finally:
            self._is_at_work = False
            furnishing.cancel()
            await asyncio.gather(furnishing, return_exceptions=True)

    def _make_controllers(self, client: Client) -> Controllers:
        informers, launcher = make_informers(client), None
        if self._settings.runtime == "pod":
            launcher = PodLauncher(client, informers, self._settings.launcher_image)
        return Controllers(client, launcher, informers=informers, absence=NO_RUNTIME, on_cluster=True)
