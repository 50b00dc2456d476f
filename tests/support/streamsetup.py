"""A server with echo guests, for tests of guest streams."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.echoguests import EchoGuests, serve_echo_guests
from tests.support.systems import RunningSystem, serve_system

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.apiserver.admission.kubevirt import CONTROLLER_USER
from virtshape.client.http import HttpTransport
from virtshape.client.kubeconfig import get_access
from virtshape.client.rest import RestClient
from virtshape.standalone.inprocesstransport import connect

NAMESPACE = "default"


class StreamSetup(NamedTuple):
    """A running server, its guests, and a transport with admin permissions."""

    system: RunningSystem
    guests: EchoGuests
    transport: HttpTransport

    @property
    def port(self) -> int:
        return int(self.system.url.rpartition(":")[2])

    @property
    def controller(self) -> RestClient:
        """A client with the identity of the controllers, which alone may write an instance's status."""
        return connect(self.system.system.server, CONTROLLER_USER)

    @property
    def audit_log(self) -> str:
        return (self.system.kubeconfig.parent / "audit.log").read_text()

    async def run_guest(self, name: str = "web", *, conditions: Sequence[str] = (), **changes: Any) -> None:
        """Create an instance whose status has the phase Running by default."""
        held = [{"type": condition, "status": "True"} for condition in conditions]
        vmi = build_vmi(name, **changes)
        await self.system.client.create(vmi)
        status: JsonObject = {"phase": changes.get("phase", "Running"), "conditions": held}
        patch = {"status": status}
        await self.controller.patch(VirtualMachineInstance, name, NAMESPACE, patch=patch)


def build_vmi(name: str = "web", devices: JsonObject | None = None, **_: Any) -> VirtualMachineInstance:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"domain": {"devices": devices or {}, "memory": {"guest": "1Gi"}}},
    }
    return from_tree(tree, VirtualMachineInstance)


@asynccontextmanager
async def open_stream_setup(folder: Path, *guests: str, with_streams: bool = True) -> AsyncIterator[StreamSetup]:
    """Run a server with these running guests."""
    async with (
        serve_echo_guests(folder) as opened,
        serve_system(folder / "data", opened if with_streams else None) as system,
    ):
        transport = HttpTransport(get_access(path=str(system.kubeconfig)))
        setup = StreamSetup(system, opened, transport)
        for guest in guests:
            await setup.run_guest(guest)
        try:
            yield setup
        finally:
            await transport.close()


async def wait_until(predicate: Any, seconds: float = 240.0) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(seconds):
        while not predicate():
            await asyncio.sleep(0.01)
