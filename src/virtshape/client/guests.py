"""Streams to the consoles, displays and ports of running guests, and queries to their agents."""

from typing import Any, Final, Literal

import msgspec

from virtshape.client.actions import Resource, format_action
from virtshape.client.http import HttpTransport
from virtshape.client.rest import USER_AGENT, RestClient
from virtshape.client.transport import Call
from virtshape.stream.websocket import WebSocket

AgentQuery = Literal["guestosinfo", "userlist", "filesystemlist"]
VIRTUAL_MACHINE_INSTANCES: Final[Resource] = "virtualmachineinstances"


async def open_console(transport: HttpTransport, namespace: str, name: str) -> WebSocket:
    """Open the serial console of a guest; raise StatusError 400 while the guest is not running."""
    return await _open(transport, format_action(namespace, VIRTUAL_MACHINE_INSTANCES, name, "console"))


async def open_vnc(transport: HttpTransport, namespace: str, name: str) -> WebSocket:
    """Open the VNC stream of a guest."""
    return await _open(transport, format_action(namespace, VIRTUAL_MACHINE_INSTANCES, name, "vnc"))


async def open_port(
    transport: HttpTransport, namespace: str, resource: Resource, name: str, port: int, protocol: str = "tcp"
) -> WebSocket:
    """Open a port of a guest; with UDP, each read and write is a datagram."""
    target = format_action(namespace, resource, name, f"portforward/{port}/{protocol}")
    return await _open(transport, target, join_fragments=protocol == "udp")


async def query_agent(client: RestClient, namespace: str, name: str, query: AgentQuery) -> Any:
    """Return the guest agent's response to a query, as decoded JSON."""
    reply = await client.request("GET", format_action(namespace, VIRTUAL_MACHINE_INSTANCES, name, query))
    return msgspec.json.decode(reply.body)


async def read_console_log(client: RestClient, namespace: str, name: str) -> bytes:
    """Return the stored output of a guest's serial console."""
    target = format_action(namespace, VIRTUAL_MACHINE_INSTANCES, name, "consolelog")
    return (await client.request("GET", target, accept="*/*")).body


async def _open(transport: HttpTransport, target: str, *, join_fragments: bool = False) -> WebSocket:
    return await transport.open_socket(Call("GET", target, {"user-agent": USER_AGENT}), join_fragments=join_fragments)
