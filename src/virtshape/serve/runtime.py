"""
What runs guests in this process's care: nothing, or a launcher that only plays.

Each is two things: a launcher for the controllers, and a door for the API. Decides nothing.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NoReturn, Protocol

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.actions.door import AgentQuestion, GuestAction, GuestDoor, PortProtocol
from virtshape.client.protocol import Client
from virtshape.control.launcher import Launcher, SimulatedLauncher
from virtshape.stream.duplex import Duplex

LauncherName = Literal["simulate", "none"]


class Runtime(Protocol):
    """What runs guests."""

    @property
    def door(self) -> GuestDoor | None:
        """What leads to the guests, if there are any."""

    @property
    def keeps_volumes(self) -> bool:
        """Whether volumes have bytes; where guests are only played, so are volumes."""

    def make_launcher(self, client: Client) -> Launcher | None:
        """What the controllers have guests run by."""


class NoRuntime:
    """Runs nothing: instances wait for a node."""

    door = None
    keeps_volumes = True

    def make_launcher(self, client: Client) -> None:
        """Nothing."""
        del client


class PlayedRuntime:
    """Plays guests."""

    keeps_volumes = False

    def __init__(self) -> None:
        self._launcher = SimulatedLauncher()
        self.door = PlayedDoor(self._launcher)

    def make_launcher(self, client: Client) -> Launcher:
        """The launcher that plays."""
        del client
        return self._launcher


class PlayedDoor:
    """Pauses played guests; there is nothing in them to be connected to."""

    def __init__(self, launcher: SimulatedLauncher) -> None:
        self._launcher = launcher

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Take the guest to be paused or to go on; a played reboot takes no time at all."""
        if action in ("pause", "unpause"):
            self._launcher.pause(vmi, paused=action == "pause")

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """Refuse."""
        refuse(vmi)

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """Refuse."""
        refuse(vmi)

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """Refuse."""
        del port, protocol
        refuse(vmi)

    async def ask_agent(self, vmi: VirtualMachineInstance, question: AgentQuestion) -> bytes:
        """Refuse."""
        del question
        refuse(vmi)

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """Refuse."""
        refuse(vmi)


def refuse(vmi: VirtualMachineInstance) -> NoReturn:
    """Say that there is no guest behind an instance."""
    name = (vmi.metadata.name if vmi.metadata else None) or ""
    words = f"{name} is only played (launcher simulate): run `virtshape up --launcher qemu` for real guests"
    raise StatusError(501, "NotImplemented", words)


@asynccontextmanager
async def open_runtime(name: LauncherName, directory: Path) -> AsyncIterator[Runtime]:
    """The runtime of this name, for as long as the block lasts."""
    del directory
    yield PlayedRuntime() if name == "simulate" else NoRuntime()
