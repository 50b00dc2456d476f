"""
A system with its controllers for tests: a client, waiting helpers and crash injection.

A crash is simulated by a client whose writes all fail, starting with a given write.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.support.objects import object_from_tree
from tests.support.systems import open_system
from tests.support.waiting import NamespaceObjects, eventually

from virtshape.api.apps import ControllerRevision
from virtshape.api.cdi import DataSource, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.event import Event
from virtshape.api.core.node import Node
from virtshape.api.instancetype.v1beta2 import VirtualMachineClusterInstancetype, VirtualMachineClusterPreference
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.apiserver.handler import Server
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.client.rest import RestClient
from virtshape.controllers.manager import Controllers
from virtshape.controllers.runtime.workqueue import WorkQueue
from virtshape.standalone.controllers import MANAGER, run_controllers
from virtshape.standalone.guestruntimes import LauncherName, NoRuntime, SimulatedRuntime
from virtshape.standalone.inprocesstransport import connect
from virtshape.standalone.server import System
from virtshape.supervise.supervisor import Supervisor

T = TypeVar("T", bound=Model)
WrapClient = Callable[[Client], Any]
Finish = Callable[[Controllers], Awaitable[object]]
POLL_SECONDS = 0.01
IDLE_SECONDS = 0.08
"""The controllers count as idle after this long without work."""
_SOON_SECONDS = 0.2
"""Keys that are due within this time count as pending work; retries have a short delay."""
_WRITERS = ("create", "update", "update_status", "patch", "delete")
_WATCHED: tuple[type[Model], ...] = (
    VirtualMachine,
    VirtualMachineInstance,
    VirtualMachineClusterInstancetype,
    VirtualMachineClusterPreference,
    DataVolume,
    DataSource,
    PersistentVolumeClaim,
    KubeVirt,
    Node,
)
"""Kinds that controllers watch."""


class CrashingClient:
    """A client that fails at the given write and all later ones; with `late`, that write still reaches the server."""

    def __init__(self, client: Client, writes: int, *, late: bool = False) -> None:
        self._client = client
        self._left = writes
        self._late = late
        self.crashed = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return self._guard(method) if name in _WRITERS else method

    def _guard(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left > 0:
                return await method(*given, **named)
            if self._left == 0 and self._late:
                await method(*given, **named)
            self.crashed.set()
            raise UnreachableError("the process has ended")

        return call


class ControlledSystem(NamespaceObjects):
    """A system and a client for its default namespace."""

    def __init__(
        self,
        system: System | None,
        client: RestClient,
        directory: Path | None = None,
        runtime: SimulatedRuntime | None = None,
    ) -> None:
        """`runtime` is the simulated runtime that the system's API uses."""
        super().__init__(client)
        self._system = system
        self.directory = directory
        self._runtime = runtime or SimulatedRuntime()

    @property
    def server(self) -> Server:
        """The server, for requests as another user."""
        assert self._system is not None
        return self._system.server

    def connect_as_system(self) -> RestClient:
        """Return a client with the identity of the controllers."""
        return connect(self.server, CONTROLLER_USER, manager=MANAGER)

    def run_controllers(
        self, launcher: LauncherName = "simulate", *, wrap: WrapClient = lambda client: client
    ) -> AbstractAsyncContextManager[Controllers]:
        """Run the controllers; `wrap` may replace their client."""
        runtime = self._runtime if launcher == "simulate" else NoRuntime()
        return run_controllers(self.server, runtime, self.directory, supervisor=Supervisor(), wrap=wrap)

    def run_controllers_with_guests(self) -> AbstractAsyncContextManager[Controllers]:
        """Run the controllers with guests that the API can reach."""
        return self.run_controllers()

    async def crash_at_write(self, write: int, finish: Finish) -> bool:
        """Crash the controllers at this write, counted from 1; return False if `finish` returns before that write."""
        clients: list[CrashingClient] = []

        def wrap(client: Client) -> CrashingClient:
            clients.append(CrashingClient(client, write))
            return clients[0]

        with suppress(UnreachableError):  # the controllers may crash during startup
            async with self.run_controllers(wrap=wrap) as controllers:
                await first_of(clients[0].crashed.wait(), finish(controllers))
        return clients[0].crashed.is_set()

    async def wait_until_idle(self, controllers: Controllers) -> None:
        """Wait until the informers are current and the controllers are idle."""
        while True:
            seen = {kind: list_versions(controllers.informers.list(kind)) for kind in _WATCHED}
            there = await self._list_all()
            await wait_until_idle(controllers)
            if seen == there == await self._list_all():
                return

    async def _list_all(self) -> dict[type[Model], set[tuple[str, str]]]:
        listings = await asyncio.gather(*(self.client.list(kind) for kind in _WATCHED))
        return {kind: list_versions(listing.items) for kind, listing in zip(_WATCHED, listings, strict=True)}

    async def create(self, *trees: JsonObject) -> None:
        """Create objects."""
        for tree in trees:
            await self.client.create(object_from_tree(tree))

    async def vm(self, name: str = "vm1") -> VirtualMachine:
        """Return an existing VM."""
        return await self.client.get(VirtualMachine, name, "default")

    async def vmi(self, name: str = "vm1") -> VirtualMachineInstance:
        """Return an existing instance."""
        return await self.client.get(VirtualMachineInstance, name, "default")

    async def list_events(self, component: str) -> list[Event]:
        """Return the events of one component."""
        return [one for one in (await self.client.list(Event)).items if one.reporting_component == component]

    async def revisions(self) -> list[str]:
        """Return the sorted names of all revisions, with `start` in place of the names of start revisions."""
        found = (await self.client.list(ControllerRevision, "default")).items
        names = [one.metadata.name or "" for one in found]
        return sorted("start" if name.startswith("revision-start-vm-") else name for name in names)

    async def wait_for_revisions(self, *names: str) -> None:
        """Wait until exactly these revisions exist."""

        async def probe() -> bool | None:
            return True if await self.revisions() == sorted(names) else None

        await eventually(probe, f"the revisions are not exactly {names}")


def list_versions(items: Iterable[Model]) -> set[tuple[str, str]]:
    """Return the uid and resourceVersion of each object."""
    return {((metadata := metadata_of(one)).uid or "", metadata.resource_version or "") for one in items}


async def first_of(*awaitables: Awaitable[object]) -> None:
    """Wait until one awaitable finishes, cancel the others, and raise the error of the finished one if it failed."""
    tasks = [asyncio.ensure_future(one) for one in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


R = TypeVar("R")


async def wait_until_idle(controllers: Controllers) -> None:
    """Wait until the controllers have no pending work."""
    idle = 0.0
    while idle < IDLE_SECONDS:
        await asyncio.sleep(POLL_SECONDS)
        idle = idle + POLL_SECONDS if all(_is_idle(loop.queue) for loop in controllers.loops) else 0.0
    await controllers.recorder.flush()


def _is_idle(queue: WorkQueue[Any]) -> bool:
    soon = asyncio.get_running_loop().time() + _SOON_SECONDS
    # The queue has no public accessors for these fields, because production code never waits until it is idle.
    busy = not queue._ready.empty() or queue._processing  # noqa: SLF001 - see above
    return not busy and all(due > soon for due in queue._due.values())  # noqa: SLF001 - see above


@asynccontextmanager
async def open_controlled_system(directory: Path) -> AsyncIterator[ControlledSystem]:
    """Open a system without running controllers."""
    runtime = SimulatedRuntime()
    async with open_system("in-process", directory, runtime.streams) as system:
        yield ControlledSystem(system.system, system.client, directory, runtime)


def instancetype_tree(name: str = "small", guest: int = 2, memory: str = "2Gi") -> JsonObject:
    """Return a cluster instance type."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": guest}, "memory": {"guest": memory}},
    }


def preference_tree(name: str = "linux") -> JsonObject:
    """Return a cluster preference."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": name},
        "spec": {"cpu": {"preferredCPUTopology": "cores"}},
    }


def vm_tree(name: str = "vm1", *, template: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Return a VM with the instance type `small`, the preference `linux` and, by default, the run strategy Always."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": "small"},
            "preference": {"name": "linux"},
            "template": {"spec": {"domain": {"devices": {}}, **(template or {})}},
            **spec,
        },
    }
