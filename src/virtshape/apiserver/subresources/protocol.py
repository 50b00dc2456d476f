"""
GuestStreams: the protocol that the API uses to reach running guests.

Callers have checked that the VMI is running and that the client is authorized.
"""

from typing import Literal, Protocol

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.stream.duplex import Duplex

GuestAction = Literal["pause", "unpause", "softreboot", "reset"]
AgentQuery = Literal["guestosinfo", "userlist", "filesystemlist"]
PortProtocol = Literal["tcp", "udp"]


class GuestStreams(Protocol):
    """Connects to guests. Methods raise StatusError on failure; opening a stream may also raise OSError."""

    @property
    def reports_agents(self) -> bool:
        """True if a condition of each VMI shows whether its agent is connected; otherwise only a query shows this."""

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Run an action on the guest and wait for it."""

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """Open the guest's first serial console; a previous stream is closed first."""

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """Open the guest's VNC display; a previous stream is closed first."""

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """Connect to a port of the guest; with UDP, each read and write is a datagram."""

    async def query_agent(self, vmi: VirtualMachineInstance, query: AgentQuery) -> bytes:
        """Query the guest agent and return its response in KubeVirt's JSON format."""

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """Return the stored output of the guest's first serial console."""
