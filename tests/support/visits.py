"""A system with guests to visit, and who visits them; what a test has to say is a coroutine."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.doors import EchoDoor, open_echo_door
from tests.support.worlds import World, listening

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import find_access
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocess import connect

Tree = dict[str, Any]
PLACE = "default"


class Visit(NamedTuple):
    """A running system, its door, and a transport with all rights."""

    world: World
    door: EchoDoor
    transport: HttpTransport

    @property
    def port(self) -> int:
        return int(self.world.url.rpartition(":")[2])

    @property
    def controller(self) -> RestClient:
        """A client with the identity of the controllers, who alone write an instance's status."""
        return connect(self.world.system.server, CONTROLLER_USER)

    @property
    def audited(self) -> str:
        return (self.world.kubeconfig.parent / "audit.log").read_text()

    async def run_guest(self, name: str = "web", *, conditions: Sequence[str] = (), **changes: Any) -> None:
        """Have an instance that runs, as far as the API knows."""
        held = [{"type": condition, "status": "True"} for condition in conditions]
        vmi = build_vmi(name, **changes)
        made = await self.world.client.create(vmi)
        status: Tree = {"phase": changes.get("phase", "Running"), "conditions": held}
        patch = {"status": status}
        assert made.metadata is not None
        await self.controller.patch(VirtualMachineInstance, name, PLACE, patch=patch)


def build_vmi(name: str = "web", devices: Tree | None = None, **_: Any) -> VirtualMachineInstance:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": PLACE},
        "spec": {"domain": {"devices": devices or {}, "memory": {"guest": "1Gi"}}},
    }
    return from_tree(tree, VirtualMachineInstance)


@asynccontextmanager
async def visiting(folder: Path, *guests: str, door: bool = True) -> AsyncIterator[Visit]:
    """A system with these guests, all of them running."""
    async with (
        open_echo_door(folder) as opened,
        listening(folder / "data", opened if door else None) as world,
    ):
        transport = HttpTransport(find_access(path=str(world.kubeconfig)))
        visit = Visit(world, opened, transport)
        for guest in guests:
            await visit.run_guest(guest)
        try:
            yield visit
        finally:
            await transport.close()


async def until(predicate: Any, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not predicate():
            await asyncio.sleep(0.01)
