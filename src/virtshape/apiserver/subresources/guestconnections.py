"""
Connections to guests: streams (console, VNC, ports), guest agent queries and console logs.

The VMI's state is checked before GuestStreams is called.
"""

from collections.abc import Awaitable
from typing import Final, TypeVar

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.status import StatusError
from virtshape.apiserver.message import Request, Upgrade
from virtshape.apiserver.subresources.exclusivesessions import ExclusiveSessions
from virtshape.apiserver.subresources.guestactions import (
    name_of,
    require_agent,
    require_console,
    require_port_forward,
    require_vnc,
)
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction, GuestStreams, PortProtocol
from virtshape.apiserver.subresources.route import ActionRoute
from virtshape.apiserver.subresources.startstop import conflict
from virtshape.apiserver.websocketrelay import accept_handshake
from virtshape.stream.duplex import Duplex

T = TypeVar("T")

STREAMS: Final = frozenset({"console", "portforward", "vnc"})
AGENT_QUERIES: Final[dict[str, AgentQuery]] = {
    "guestosinfo": "guestosinfo",
    "userlist": "userlist",
    "filesystemlist": "filesystemlist",
}
CONSOLE_LOG: Final = "consolelog"
_PROTOCOLS: Final[dict[str, PortProtocol]] = {"tcp": "tcp", "udp": "udp"}


class GuestConnections:
    """Connects clients to guests; if no GuestStreams object is given, all calls fail with 503."""

    def __init__(self, streams: GuestStreams | None) -> None:
        self._streams = streams
        self._sessions = ExclusiveSessions()

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Run an action on a guest."""
        await self._require_streams().act(vmi, action)

    async def open(self, request: Request, route: ActionRoute, vmi: VirtualMachineInstance) -> Upgrade:
        """Open a stream to a guest for a WebSocket client."""
        match route.action:
            case "console":
                require_console(vmi)
                headers = accept_handshake(request)
                opening = self._open_exclusive("console", vmi)
            case "vnc":
                require_vnc(vmi)
                headers = accept_handshake(request)
                self._require_screen(vmi, keeps=request.flag("preserveSession") is True)
                opening = self._open_exclusive("screen", vmi)
            case _:
                require_port_forward(vmi)
                port, protocol = read_port(route.arguments)
                headers = accept_handshake(request)
                opening = self._require_streams().open_port(vmi, port, protocol)
                return Upgrade(await _call_guest(opening), headers, join_fragments=protocol == "udp")
        return Upgrade(await _call_guest(opening), headers)

    async def ask(self, route: ActionRoute, vmi: VirtualMachineInstance) -> bytes:
        """Return the result of an agent query, or the console log."""
        if route.action == CONSOLE_LOG:
            return await _call_guest(self._require_streams().read_console_log(vmi))
        require_agent(vmi, is_reported=self._streams is None or self._streams.reports_agents)
        return await _call_guest(self._require_streams().query_agent(vmi, AGENT_QUERIES[route.action]))

    async def _open_exclusive(self, device: str, vmi: VirtualMachineInstance) -> Duplex:
        streams = self._require_streams()
        open_stream = streams.open_console if device == "console" else streams.open_vnc
        message = f"another client connected to the {device} of {name_of(vmi)}"
        return await self._sessions.open(_session_key(device, vmi), lambda: open_stream(vmi), message)

    def _require_screen(self, vmi: VirtualMachineInstance, *, keeps: bool) -> None:
        if keeps and self._sessions.is_open(_session_key("screen", vmi)):
            raise conflict("virtualmachineinstance", name_of(vmi), "another client is connected to its VNC display")

    def _require_streams(self) -> GuestStreams:
        if self._streams is None:
            message = "no launcher is running: start virtshape with --launcher qemu"
            raise StatusError(503, "ServiceUnavailable", message)
        return self._streams


def read_port(arguments: tuple[str, ...]) -> tuple[int, PortProtocol]:
    """Return the port and protocol at the end of a path (default TCP); raise StatusError 400 if either is invalid."""
    port, *rest = arguments
    number = int(port)
    if not 1 <= number <= 65535:
        raise StatusError(400, "BadRequest", f'invalid port "{port}": must be 1-65535')
    protocol = _PROTOCOLS.get(rest[0] if rest else "tcp")
    if protocol is None:
        raise StatusError(400, "BadRequest", f'unsupported protocol "{rest[0]}": must be tcp or udp')
    return number, protocol


def _session_key(device: str, vmi: VirtualMachineInstance) -> tuple[str, str]:
    return device, vmi.metadata.uid or ""


async def _call_guest(call: Awaitable[T]) -> T:
    """Await a call to a guest; an OSError becomes an internal error, as in KubeVirt."""
    try:
        return await call
    except OSError as error:
        message = f"Internal error occurred: the guest cannot be reached: {error.strerror or error}"
        raise StatusError(500, "InternalError", message) from error
