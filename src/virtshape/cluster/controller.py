"""
The controllers as a process on a cluster. Several replicas may run; the holder of the lease is active.

A process that loses the lease stops its controllers and becomes a candidate again.
"""

import asyncio
import contextlib
import logging
import platform
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Literal

from msgspec import Struct

from virtshape import catalog
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.access import Access
from virtshape.client.errors import ConfigError, UnreachableError
from virtshape.client.protocol import Client
from virtshape.cluster.bootstrap import install_defaults, list_defaults
from virtshape.cluster.component import Ports, open_connection
from virtshape.cluster.guestreports import PodReports, RunCommand
from virtshape.cluster.guestresize import resize_guest
from virtshape.cluster.monitoring import Monitor, serve_monitoring
from virtshape.cluster.podexec import run_command
from virtshape.controllers.manager import Controllers, make_informers
from virtshape.controllers.pods.launcher import PodLauncher
from virtshape.controllers.pods.resizer import PodResizer
from virtshape.controllers.runtime.clients import FencedClient
from virtshape.controllers.runtime.leaderelection import LeaderElectionConfig, LeaderElector
from virtshape.daemon.metrics.controllers import list_loop_metrics
from virtshape.daemon.metrics.families import Family
from virtshape.daemon.metrics.process import list_build_metrics, list_leader_metrics, list_task_metrics
from virtshape.daemon.metrics.scrape import Scraper
from virtshape.daemon.metrics.vms import VmMetrics
from virtshape.daemon.tuning import tune_process
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
    # A separate connection for the lease: renewals must not wait for other requests.
    async with open_connection(access, MANAGER) as api, open_connection(access, MANAGER) as quick:
        run_pod_command = partial(run_command, api.transport)
        manager = Manager(api.client, quick.client, settings, supervisor, run_command=run_pod_command)
        monitor = Monitor(manager.list_checks, Scraper(manager.list_metrics))
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
        self,
        client: Client,
        lease_client: Client,
        settings: Settings,
        supervisor: Supervisor,
        identity: str = "",
        *,
        run_command: RunCommand | None = None,
    ) -> None:
        """
        Set up the manager.

        `run_command` runs commands in pods, to read the reports of launchers and to resize guests. If `run_command` is
        None, reports are not read and guests are not resized.
        """
        self._client = client
        self._run_command = run_command
        self._settings = settings
        self._supervisor = supervisor
        identity = identity or f"{platform.node()}_{uuid.uuid4()}"
        self._elector = LeaderElector(lease_client, LEASE, settings.namespace, identity, settings.terms)
        self._controllers: Controllers | None = None
        self._is_controlling = False
        self._vm_metrics = VmMetrics()
        self._missing: list[Model] = []
        """Default objects that this process must still create when it is the leader."""

    async def run(self) -> None:
        """Wait for the lease, run the controllers until it is lost, and repeat until cancelled."""
        while True:
            try:
                await self._elector.lead(self._control)
            except (StatusError, UnreachableError, ConfigError) as error:
                _log.error("starting the controllers failed: %s; retrying in %g s", error, RETRY_SECONDS)
            await asyncio.sleep(RETRY_SECONDS)

    def list_checks(self) -> dict[str, Check]:
        """Return the health checks: lease, start of the controllers, default objects and background tasks."""
        lease = PASSED if self._elector.has_recent_lease else Check("the lease could not be read or renewed recently")
        is_waiting = self._elector.is_leading and not self._is_controlling
        started = (
            Check("this process is the leader, but its controllers have not started yet") if is_waiting else PASSED
        )
        missing = len(self._missing)
        defaults = Check(f"{missing} default objects have not been created yet") if missing else PASSED
        tasks = self._supervisor.list_checks()
        return {"lease": lease, "controllers-started": started, "defaults-created": defaults, **tasks}

    def list_metrics(self) -> Iterable[Family]:
        """Return the metrics of the process, its controllers and its background tasks."""
        loops = self._controllers.loops if self._controllers is not None else ()
        return [
            *list_build_metrics(COMPONENT),
            *list_leader_metrics(LEASE, is_leading=self._elector.is_leading),
            *list_loop_metrics(loops),
            *list_task_metrics(self._supervisor),
            *(
                self._vm_metrics.list_families(self._controllers.informers)
                if self._controllers and self._is_controlling
                else ()
            ),
        ]

    async def _control(self) -> None:
        client: Client = FencedClient(self._client, lambda: self._elector.is_leading)
        reports = PodReports(self._run_command) if self._run_command is not None else None
        controllers = self._controllers = self._make_controllers(client, reports)
        missing = self._missing = list_defaults(with_catalog=self._settings.catalog)
        install = self._supervisor.running(INSTALL_DEFAULTS, partial(install_defaults, client, missing), finishes=True)
        try:
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(install)
                if reports is not None:
                    await stack.enter_async_context(reports.loop.running(self._supervisor))
                await stack.enter_async_context(controllers.running())
                self._is_controlling = True
                tune_process()
                _log.info("controllers started")
                await asyncio.Event().wait()
        finally:
            self._is_controlling = False
            self._missing = []

    def _make_controllers(self, client: Client, reports: PodReports | None) -> Controllers:
        informers, launcher = make_informers(client), None
        if self._settings.runtime == "pod":
            resizer = None
            if self._run_command is not None:
                resizer = PodResizer(client, partial(resize_guest, self._run_command))
            launcher = PodLauncher(client, informers, self._settings.launcher_image, reports, resizer)
        return Controllers(
            client,
            launcher,
            supervisor=self._supervisor,
            informers=informers,
            no_launcher_reason=NO_RUNTIME,
            on_cluster=True,
            load_catalog=catalog.load if self._settings.catalog else tuple,
        )
