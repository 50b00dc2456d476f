"""Streams to guests of this machine: consoles, displays and ports, and requests to their launcher processes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction, PortProtocol
from virtshape.daemon.guestrequests import ACTIONS, AGENT_REQUESTS, format_agent_response
from virtshape.launcher.controlprotocol import Answer, Connect, Request
from virtshape.launcher.layout import SERIAL_LOG, SERIAL_SOCKET, VNC_SOCKET
from virtshape.launcher.node.controlclient import pin_socket
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.node.gueststate import read_tail
from virtshape.stream.datagrams import wrap_datagrams
from virtshape.stream.duplex import Duplex, open_unix, wrap_socket


class QemuGuestStreams:
    """Connects to QEMU guests on this machine."""

    reports_agents: Final = True

    def __init__(self, guests: Callable[[], Guests], directories: GuestDirectories) -> None:
        self._find_guests = guests
        self._directories = directories

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Send the action to the guest's launcher process."""
        await self._ask(vmi, ACTIONS[action])

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """Connect to QEMU's socket for the first serial console."""
        with pin_socket(self._get_directory(vmi) / SERIAL_SOCKET) as path:
            return await open_unix(path)

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """Connect to QEMU's VNC socket."""
        with pin_socket(self._get_directory(vmi) / VNC_SOCKET) as path:
            return await open_unix(path)

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """Connect to a port of the guest in its network namespace."""
        try:
            found = await self._find_guests().connect(_uid(vmi), Connect(port=port, protocol=protocol))
        except OSError as error:
            raise StatusError(409, "Conflict", str(error)) from error
        found.setblocking(False)
        return await (wrap_datagrams(found) if protocol == "udp" else wrap_socket(found))

    async def query_agent(self, vmi: VirtualMachineInstance, query: AgentQuery) -> bytes:
        """Return the guest agent's response in KubeVirt's format."""
        answer = await self._ask(vmi, AGENT_REQUESTS[query])
        return format_agent_response(query, answer)

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """Return the end of the first serial console's log."""
        return await asyncio.to_thread(read_tail, self._get_directory(vmi) / SERIAL_LOG)

    def _get_directory(self, vmi: VirtualMachineInstance) -> Path:
        return self._directories.get_layout(_uid(vmi)).directory

    async def _ask(self, vmi: VirtualMachineInstance, request: Request) -> Answer:
        answer = await self._find_guests().ask(_uid(vmi), request)
        if answer.error:
            raise StatusError(409, "Conflict", answer.error)
        return answer


def _uid(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.uid or ""
