"""
A whole system with its controllers, for tests: a client to ask, and ways to wait, to get in the way and to kill.

Whoever kills lets a number of writes through, then nothing any more, as if the process had ended there.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.build import Tree
from tests.worlds import opened

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import object_from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.apiserver.server import Server
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.client.rest import RestClient
from virtshape.control.controllers import Controllers
from virtshape.serve.controllers import CONTROLLER, MANAGER, controlling
from virtshape.serve.embedded import System
from virtshape.serve.inprocess import connect
from virtshape.serve.runtime import LauncherName, NoRuntime, PlayedRuntime

T = TypeVar("T", bound=Model)
PATIENCE_SECONDS = 10.0
CALM_SECONDS = 0.08
"""How long nothing happens once all is done."""
_PULSE = 0.005
_WRITERS = ("create", "update", "update_status", "patch", "delete")


class Mortal:
    """A client that lets some writes through and then is dead; `late` if the last one still reached the server."""

    def __init__(self, client: Client, writes: int, *, late: bool) -> None:
        self._client = client
        self._left = writes
        self._late = late
        self.died = asyncio.Event()

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
            self.died.set()
            raise UnreachableError("the process has ended")

        return call


class Place:
    """A system, asked through one client, in its default namespace."""

    def __init__(self, system: System | None, client: RestClient, directory: Path | None = None) -> None:
        self._system = system
        self.client = client
        self.directory = directory

    @property
    def server(self) -> Server:
        """The server itself, to ask as somebody else."""
        assert self._system is not None
        return self._system.server

    def connect_as_system(self) -> RestClient:
        """A client with the controllers' own name."""
        return connect(self.server, CONTROLLER, manager=MANAGER)

    def controlling(self, launcher: LauncherName = "simulate") -> Any:
        """The controllers at work."""
        return controlling(self.server, PlayedRuntime() if launcher == "simulate" else NoRuntime(), self.directory)

    @asynccontextmanager
    async def controlling_until(self, writes: int, *, late: bool) -> AsyncIterator[Mortal]:
        """The controllers at work for so many writes."""
        mortals: list[Mortal] = []

        def wrap(client: Client) -> Client:
            mortals.append(Mortal(client, writes, late=late))
            return mortals[0]

        async with controlling(self.server, PlayedRuntime(), wrap=wrap):
            yield mortals[0]

    async def create(self, *trees: Tree) -> None:
        """Store objects."""
        for tree in trees:
            await self.client.create(object_from_tree(tree))

    async def find(self, kind: type[T], name: str = "vm1", namespace: str = "default") -> T | None:
        """An object, if it is there."""
        try:
            return await self.client.get(kind, name, namespace)
        except StatusError as error:
            if error.code != 404:
                raise
            return None

    async def vm(self, name: str = "vm1") -> VirtualMachine:
        """A VM that is there."""
        return await self.client.get(VirtualMachine, name, "default")

    async def vmi(self, name: str = "vm1") -> VirtualMachineInstance:
        """An instance that is there."""
        return await self.client.get(VirtualMachineInstance, name, "default")

    async def revisions(self) -> list[str]:
        """The names of all revisions, those of starts without their numbers."""
        found = (await self.client.list(ControllerRevision, "default")).items
        names = [one.metadata.name or "" for one in found if one.metadata]
        return sorted("start" if name.startswith("revision-start-vm-") else name for name in names)

    async def wait_for_revisions(self, *names: str) -> None:
        """Wait until there are these revisions and no others."""

        async def look() -> bool | None:
            return True if await self.revisions() == sorted(names) else None

        await eventually(look, f"there are not just the revisions {names}")

    async def wait_for(self, status: str, name: str = "vm1") -> VirtualMachine:
        """The VM, once its state is this word."""

        async def look() -> VirtualMachine | None:
            vm = await self.find(VirtualMachine, name)
            return vm if vm is not None and vm.status is not None and vm.status.printable_status == status else None

        return await eventually(look, f"{name} is not {status}")

    async def wait_until_gone(self, kind: type[Model], name: str = "vm1") -> None:
        """Wait until the object is not there any more."""

        async def look() -> bool | None:
            return True if await self.find(kind, name) is None else None

        await eventually(look, f"{kind.__name__} {name} is still there")


R = TypeVar("R")


async def eventually(look: Callable[[], Awaitable[R | None]], otherwise: str) -> R:
    """What looking finds, in the end."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        found = await look()
        if found is not None:
            return found
        await asyncio.sleep(_PULSE)
    raise AssertionError(otherwise)


async def settle(controllers: Controllers) -> None:
    """Wait until the controllers have nothing to do."""
    calm = 0.0
    while calm < CALM_SECONDS:
        await asyncio.sleep(_PULSE)
        calm = calm + _PULSE if all(loop.queue.is_idle for loop in controllers.loops) else 0.0
    await controllers.recorder.flush()


@asynccontextmanager
async def placed(directory: Path) -> AsyncIterator[Place]:
    """A system without controllers yet."""
    async with opened("in-process", directory) as world:
        yield Place(world.system, world.client, directory)


def instancetype_tree(name: str = "small", guest: int = 2, memory: str = "2Gi") -> Tree:
    """An instance type for the whole cluster."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": guest}, "memory": {"guest": memory}},
    }


def preference_tree(name: str = "linux") -> Tree:
    """A preference for the whole cluster."""
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta2",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": name},
        "spec": {"cpu": {"preferredCPUTopology": "cores"}},
    }


def vm_tree(name: str = "vm1", *, template: Tree | None = None, **spec: Any) -> Tree:
    """A VM of type small that likes what linux likes and runs, unless said otherwise."""
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
