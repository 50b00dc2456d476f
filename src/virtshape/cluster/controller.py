"""
The controllers as a process on a cluster. Several replicas may run; the holder of the lease is active.

A process that loses the lease stops its controllers and becomes a candidate again.
"""

import asyncio
import logging
import platform
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Literal

from msgspec import Struct

from virtshape import catalog
from virtshape.api.status import StatusError
from virtshape.client.access import Access
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.protocol import Client
from virtshape.cluster.bootstrap import install_defaults, list_defaults
from virtshape.cluster.component import Ports, open_connection
from virtshape.cluster.monitoring import Monitor, serve_monitoring
from virtshape.controllers.manager import Controllers, make_informers
from virtshape.controllers.pods.launcher import PodLauncher
from virtshape.controllers.runtime.clients import FencedClient
from virtshape.controllers.runtime.leaderelection import LeaderElectionConfig, LeaderElector
from virtshape.daemon.garbagecollection import tune_garbage_collection
from virtshape.daemon.metrics import (
    Family,
    list_leader_metrics,
    list_loop_metrics,
    list_process_metrics,
    list_task_metrics,
)
from virtshape.supervise.checks import PASSED, Check
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import INSTALL_DEFAULTS, LEADER_ELECTION

COMPONENT: Final = "controller"
LEASE: Final = "virtshape-controller"
MANAGER: Final = "virt-controller"
RETRY_SECONDS: Final = 1.0
NO_RUNTIME: Final = "the controllers were started with --runtime=none"
RuntimeName = Literal["pod", "none"]
_log = logging.getLogger(__name__)


class Settings(Struct, frozen=True, kw_only=True):
    """Options of the controller process."""

    namespace: str
    runtime: RuntimeName = "pod"
    launcher_image: str = ""
    catalog: bool = False
    ports: Ports = Ports()
    terms: LeaderElectionConfig = LeaderElectionConfig()


class Ready(Struct, frozen=True):
    """The health and metrics ports of the process."""

    health_port: int
    metrics_port: int


async def run(settings: Settings, access: Access, on_ready: Callable[[Ready], None]) -> None:
    """Run the controllers whenever this process is the leader, until cancelled."""
    supervisor = Supervisor()
    # A separate connection for the lease: renewing it must not wait for other requests.
    async with open_connection(access, MANAGER) as api, open_connection(access, MANAGER) as quick:
        manager = Manager(api.client, quick.client, settings, supervisor)
        monitor = Monitor(manager.list_checks, manager.list_metrics)
        ports = settings.ports
        async with (
            serve_monitoring(monitor, ports.host, ports.health, ports.metrics) as (health, metrics),
            supervisor.running(LEADER_ELECTION, manager.run),
        ):
            on_ready(Ready(health, metrics))
            await asyncio.Event().wait()


class Manager:
    """Runs the controllers while this process holds the lease."""

    def __init__(
        self, client: Client, lease_client: Client, settings: Settings, supervisor: Supervisor, identity: str = ""
    ) -> None:
        self._client = client
        self._settings = settings
        self._supervisor = supervisor
        identity = identity or f"{platform.node()}_{uuid.uuid4()}"
        self._elector = LeaderElector(lease_client, LEASE, settings.namespace, identity, settings.terms)
        self._controllers: Controllers | None = None
        self._is_controlling = False

    async def run(self) -> None:
        """Wait for the lease, run the controllers until it is lost, and repeat until cancelled."""
        while True:
            try:
                await self._elector.lead(self._control)
            except (StatusError, UnreachableError, ConfigError) as error:
                _log.error("starting the controllers failed: %s; retrying in %g s", error, RETRY_SECONDS)
            await asyncio.sleep(RETRY_SECONDS)

    def list_checks(self) -> dict[str, Check]:
        """Return the checks of the lease, of the controllers' start and of background tasks."""
        lease = PASSED if self._elector.has_recent_lease else Check("the lease could not be read or renewed recently")
        is_waiting = self._elector.is_leading and not self._is_controlling
        started = (
            Check("this process is the leader, but its controllers have not started yet") if is_waiting else PASSED
        )
        return {"lease": lease, "controllers-started": started, **self._supervisor.list_checks()}

    def list_metrics(self) -> Iterable[Family]:
        """Return the metrics of the process, its controllers and its background tasks."""
        loops = self._controllers.loops if self._controllers is not None else ()
        return [
            *list_process_metrics(COMPONENT),
            *list_leader_metrics(is_leading=self._elector.is_leading),
            *list_loop_metrics(loops),
            *list_task_metrics(self._supervisor),
        ]

    async def _control(self) -> None:
        client: Client = FencedClient(self._client, lambda: self._elector.is_leading)
        controllers = self._controllers = self._make_controllers(client)
        missing = list_defaults(with_catalog=self._settings.catalog)
        install = self._supervisor.running(INSTALL_DEFAULTS, partial(install_defaults, client, missing), finishes=True)
        try:
            async with install, controllers.running():
                self._is_controlling = True
                tune_garbage_collection()
                _log.info("controllers started")
                await asyncio.Event().wait()
        finally:
            self._is_controlling = False

    def _make_controllers(self, client: Client) -> Controllers:
        informers, launcher = make_informers(client), None
        if self._settings.runtime == "pod":
            launcher = PodLauncher(client, informers, self._settings.launcher_image)
        return Controllers(
            client,
            launcher,
            supervisor=self._supervisor,
            informers=informers,
            no_launcher_reason=NO_RUNTIME,
            on_cluster=True,
            load_catalog=catalog.load if self._settings.catalog else tuple,
        )
