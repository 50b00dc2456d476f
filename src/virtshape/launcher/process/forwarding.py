"""
Ports of the machine that lead into a guest with user-mode networking, opened through QEMU's monitor.

Only on the loopback address, and only while the guest runs.
"""

import contextlib
import socket
from collections.abc import Mapping
from typing import Any, Final, Literal

import libvirt_qemu

_TRIES: Final = 5
_LOOPBACK: Final = "127.0.0.1"


class ForwardError(Exception):
    """A port that cannot be opened, and why."""


class Forwarding:
    """The ports that are open; asking twice for the same gives the same."""

    def __init__(self, domain: Any, netdevs: Mapping[str, str]) -> None:
        self._domain = domain
        self._netdevs = netdevs
        self._open: dict[tuple[str, str, int], int] = {}

    def open(self, port: int, protocol: Literal["tcp", "udp"], interface: str = "") -> int:
        """Open a port that leads to this one of the guest; its number."""
        netdev = self._choose(interface)
        key = (netdev, protocol, port)
        if key not in self._open:
            self._open[key] = self._add(netdev, protocol, port)
        return self._open[key]

    def _choose(self, interface: str) -> str:
        if interface in self._netdevs:
            return self._netdevs[interface]
        if interface or not self._netdevs:
            which = f"the interface {interface}" if interface else "no interface of the guest"
            raise ForwardError(f"{which} has user-mode networking, so that no port can be opened")
        return next(iter(self._netdevs.values()))

    def _add(self, netdev: str, protocol: str, port: int) -> int:
        said = ""
        for _ in range(_TRIES):  # another program may take a port that was free a moment ago
            chosen = _find_free_port(protocol)
            said = self._tell(f"hostfwd_add {netdev} {protocol}:{_LOOPBACK}:{chosen}-:{port}")
            if not said:
                return chosen
        raise ForwardError(f"port {port} could not be opened: {said}")

    def _tell(self, command: str) -> str:
        said: str = libvirt_qemu.qemuMonitorCommand(
            self._domain, command, libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP
        )
        return said.strip()


def _find_free_port(protocol: str) -> int:
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with contextlib.closing(socket.socket(socket.AF_INET, kind)) as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
