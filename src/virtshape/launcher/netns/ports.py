"""
Choose a free host port for each port that an instance lists.

Ports are chosen before the launcher process leaves the host's network namespace. Only the fields of the launch request
that are needed to choose ports are decoded.
"""

import contextlib
import socket
from collections.abc import Iterable
from typing import Final, Literal

import msgspec
from msgspec import Struct

from virtshape.launcher.netns.pasta import PortForward

Protocol = Literal["tcp", "udp"]
PortKey = tuple[str, Protocol, int]
"""Interface, protocol and port of the guest."""
FIRST_ORDINARY: Final = 1024
"""First host port for guests; lower ports are reserved for services of the host."""
MAX_PORTS: Final = 256
"""Maximum number of ports that an interface may list; an instance with more is refused."""


class _Port(Struct):
    port: int
    protocol: str | None = None


class _PortRange(Struct):
    start: int
    end: int
    protocol: str | None = None


class _Interface(Struct, rename="camel"):
    name: str
    ports: list[_Port] | None = None
    port_ranges: list[_PortRange] | None = None


class _Devices(Struct):
    interfaces: list[_Interface] | None = None


class _Domain(Struct):
    devices: _Devices = msgspec.field(default_factory=_Devices)


class _Spec(Struct):
    domain: _Domain


class _Instance(Struct):
    spec: _Spec


class _Host(Struct):
    isolation: str = "none"


class _LaunchRequest(Struct):
    vmi: _Instance
    host: _Host = msgspec.field(default_factory=_Host)


def parse_launch_request(text: bytes) -> tuple[str, list[PortKey]]:
    """Return the isolation of a guest and the ports that its interfaces list."""
    launch_request = msgspec.json.decode(text, type=_LaunchRequest)
    named: list[PortKey] = []
    for interface in launch_request.vmi.spec.domain.devices.interfaces or ():
        single = [(one.protocol, range(one.port, one.port + 1)) for one in interface.ports or ()]
        ranges = [(one.protocol, range(one.start, one.end + 1)) for one in interface.port_ranges or ()]
        listed = [(protocol, port) for protocol, ports in (*single, *ranges) for port in ports[: MAX_PORTS + 1]]
        if len(listed) <= MAX_PORTS:
            named += [(interface.name, _read_protocol(protocol), port) for protocol, port in listed]
    return launch_request.host.isolation, list(dict.fromkeys(named))


def choose_ports(named: Iterable[PortKey]) -> dict[PortKey, int]:
    """Choose a free loopback port above 1023 for each listed port, with the same number if possible."""
    chosen: dict[PortKey, int] = {}
    with contextlib.ExitStack() as held:
        for key in named:
            _, protocol, port = key
            wanted = port if port >= FIRST_ORDINARY else 0
            found = _hold_port(held, protocol, wanted) or _hold_port(held, protocol, 0)
            if found:
                chosen[key] = found
    return chosen


def list_forwards(chosen: dict[PortKey, int]) -> list[PortForward]:
    """Return the forwards for the chosen ports, from the host's loopback address to that of the namespace."""
    return [PortForward(protocol, here) for (_, protocol, _), here in chosen.items()]


def _hold_port(held: contextlib.ExitStack, protocol: Protocol, port: int) -> int:
    """Bind a port until all ports are chosen, and return its number; return 0 if the port is in use."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM)
    held.callback(probe.close)
    try:
        probe.bind(("127.0.0.1", port))
    except OSError:
        return 0
    number: int = probe.getsockname()[1]
    return number


def _read_protocol(protocol: str | None) -> Protocol:
    return "udp" if (protocol or "").lower() == "udp" else "tcp"
