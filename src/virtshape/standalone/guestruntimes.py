"""
Guest runtimes of the standalone server: QEMU, simulated, or none.

Each runtime provides a launcher and guest streams.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, NoReturn, Protocol

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction, GuestStreams, PortProtocol
from virtshape.client.protocol import Client
from virtshape.client.transport import Transport
from virtshape.controllers.runtime.cache import Cache
from virtshape.controllers.storage.protocol import Storage
from virtshape.controllers.vmi.launcher import SIMULATED_NODE, Launcher, SimulatedLauncher
from virtshape.controllers.vmi.nodefit import NO_LAUNCHER
from virtshape.stream.duplex import Duplex
from virtshape.supervise.supervisor import Supervisor

LauncherName = Literal["qemu", "simulate", "none"]


class Runtime(Protocol):
    """Runs the guests of the standalone server."""

    @property
    def streams(self) -> GuestStreams | None:
        """Streams to guests; None if there are no guests."""

    @property
    def keeps_volumes(self) -> bool:
        """Whether volumes are stored; False for simulated guests."""

    @property
    def unavailable_reason(self) -> str:
        """Why there is no launcher; empty if there is one."""

    @property
    def node(self) -> str:
        """The name of the node that runs guests; empty if there is no launcher."""

    async def make_launcher(
        self, client: Client, transport: Transport, cache: Cache, storage: Storage | None
    ) -> Launcher:
        """Return a launcher for the controllers; called again after a failure."""


class NoRuntime:
    """Runs no guests: instances stay pending, and `unavailable_reason` says why."""

    streams = None
    keeps_volumes = True
    node = ""

    def __init__(self, unavailable_reason: str = NO_LAUNCHER) -> None:
        self.unavailable_reason = unavailable_reason

    async def make_launcher(
        self, client: Client, transport: Transport, cache: Cache, storage: Storage | None
    ) -> NoReturn:
        """Raise RuntimeError: there is no launcher."""
        del client, transport, cache, storage
        raise RuntimeError(self.unavailable_reason)


class SimulatedRuntime:
    """Simulates guests."""

    keeps_volumes = False
    unavailable_reason = ""
    node = SIMULATED_NODE

    def __init__(self) -> None:
        self._launcher = SimulatedLauncher()
        self.streams = SimulatedGuestStreams(self._launcher)

    async def make_launcher(
        self, client: Client, transport: Transport, cache: Cache, storage: Storage | None
    ) -> Launcher:
        """Return the launcher that simulates guests."""
        del client, transport, cache, storage
        return self._launcher


class SimulatedGuestStreams:
    """Pauses simulated guests, and refuses connections to them."""

    reports_agents: Final = True

    def __init__(self, launcher: SimulatedLauncher) -> None:
        self._launcher = launcher

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Pause or unpause a simulated guest; other actions have no effect."""
        if action in ("pause", "unpause"):
            self._launcher.pause(vmi, paused=action == "pause")

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """Raise StatusError: a simulated guest has no console."""
        refuse_simulated(vmi)

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """Raise StatusError: a simulated guest has no display."""
        refuse_simulated(vmi)

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """Raise StatusError: a simulated guest has no ports."""
        del port, protocol
        refuse_simulated(vmi)

    async def query_agent(self, vmi: VirtualMachineInstance, query: AgentQuery) -> bytes:
        """Raise StatusError: a simulated guest has no guest agent."""
        del query
        refuse_simulated(vmi)

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """Raise StatusError: a simulated guest has no console log."""
        refuse_simulated(vmi)


def refuse_simulated(vmi: VirtualMachineInstance) -> NoReturn:
    """Raise StatusError because an instance is only simulated."""
    name = vmi.metadata.name or ""
    message = f"{name} is only simulated (--launcher simulate): run `virtshape up --launcher qemu` for real guests"
    raise StatusError(501, "NotImplemented", message)


@asynccontextmanager
async def open_runtime(name: LauncherName, directory: Path, supervisor: Supervisor) -> AsyncIterator[Runtime]:
    """Yield the runtime with this name; if QEMU cannot run guests, yield NoRuntime with the reason."""
    if name == "simulate":
        yield SimulatedRuntime()
    elif name == "none":
        yield NoRuntime()
    elif unavailable_reason := find_unavailable_reason(directory):
        yield NoRuntime(unavailable_reason)
    else:
        # Imported late: a server without guests does not need it.
        from virtshape.standalone.guests.qemuruntime import QemuRuntime

        runtime = QemuRuntime(directory, supervisor)
        try:
            yield runtime
        finally:
            await runtime.close()


def find_unavailable_reason(directory: Path) -> str:
    """Return why QEMU cannot run guests on this machine and how to fix it; empty if it can."""
    # Imported late: a server without guests does not need it.
    from virtshape.standalone.doctor.checks import check_guests, explain_failures
    from virtshape.standalone.doctor.facts import gather_facts

    facts = gather_facts(directory, "", None, versions=False, probes=False)
    return explain_failures(check_guests(facts), facts)
