"""
The door to running guests: what the API asks of whatever runs them.

Only the protocol. Whoever implements it may take for granted that the instance runs and that the asker may ask.
"""

from typing import Literal, Protocol

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.stream.duplex import Duplex

GuestAction = Literal["pause", "unpause", "softreboot", "reset"]
AgentQuery = Literal["guestosinfo", "userlist", "filesystemlist"]
PortProtocol = Literal["tcp", "udp"]


class GuestStreams(Protocol):
    """Reaches guests. What cannot be done is a StatusError; streams that cannot be opened may be an OSError too."""

    @property
    def reports_agents(self) -> bool:
        """Whether instances have a condition while their agent is connected; else only asking shows whether it is."""

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Have something done with the guest; returns once it is."""

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """The guest's first serial console; the one opened before is closed by then."""

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """The guest's screen, in VNC's protocol; the one opened before is closed by then."""

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """A port of the guest; each read and write is a datagram where the protocol has them."""

    async def ask_agent(self, vmi: VirtualMachineInstance, question: AgentQuery) -> bytes:
        """What the agent in the guest says, as the JSON that KubeVirt answers the same question with."""

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """All that the guest has written to its first serial console, as far as it is kept."""
