"""
Port forwarding into guests with user-mode networking, set up through QEMU's monitor while the guest runs.

Ports are opened on the loopback address of QEMU's network namespace; ports that the instance lists may be opened on
another address. If the guest has its own network namespace, pasta forwards listed ports from the host's loopback.
"""

import contextlib
import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.host import LOOPBACK
from virtshape.launcher.netns.ports import FIRST_ORDINARY, PortKey
from virtshape.launcher.report import OpenPort

_ATTEMPTS: Final = 5
_log = logging.getLogger(__name__)

MonitorCommand = Callable[[str], str]
"""Runs a command in QEMU's monitor and returns its output, which is empty on success."""


class ForwardError(Exception):
    """A port could not be opened."""


class PortForwarder:
    """Opens host ports that forward to the guest, and records which ports are open."""

    def __init__(
        self,
        plan: Plan,
        run_command: MonitorCommand,
        ports: Iterable[OpenPort] = (),
        chosen: Mapping[PortKey, int] | None = None,
    ) -> None:
        """Set up the forwarder; `ports` are already open, and `chosen` maps listed ports to host ports."""
        self._netdevs = plan.netdevs
        self._forwards = plan.forwards
        self._address = plan.port_address
        self._run_command = run_command
        self._open = {(one.interface, one.protocol, one.port): one.here for one in ports}
        self._chosen = chosen

    def open_listed(self) -> Iterator[OpenPort]:
        """Open a host port for each port that the instance lists, with the same number if possible; yield the ports."""
        for interface, forwards in self._forwards.items():
            for forward in forwards:
                for port in forward.ports:
                    if self._chosen is not None and (interface, forward.protocol, port) not in self._chosen:
                        _log.warning("interface %s: port %d is not forwarded: no free host port", interface, port)
                        continue
                    try:
                        here = self.open(port, forward.protocol, interface, named=True)
                    except ForwardError as error:
                        _log.warning("%s", error)
                        continue
                    yield OpenPort(interface=interface, protocol=forward.protocol, port=port, here=here)

    def open(self, port: int, protocol: Literal["tcp", "udp"], interface: str = "", *, named: bool = False) -> int:
        """Return the host port that forwards to a guest port, and open it if needed; raise ForwardError on failure."""
        interface = self._choose(interface)
        self._require_forwarded(interface, protocol, port)
        key: PortKey = (interface, protocol, port)
        if key not in self._open:
            address = self._address if named else LOOPBACK
            if named and self._chosen is not None:
                candidates: Iterable[int] = [self._chosen[key]]
            else:
                candidates = _list_candidates(protocol, address, port if named else 0)
            self._open[key] = self._add(f"{self._netdevs[interface]} {protocol}:{address}", port, candidates)
        return self._open[key]

    def _choose(self, interface: str) -> str:
        if interface in self._netdevs:
            return interface
        if interface or not self._netdevs:
            which = f"interface {interface} does not have" if interface else "no interface of the guest has"
            raise ForwardError(f"{which} user-mode networking: ports cannot be forwarded")
        return next(iter(self._netdevs))

    def _require_forwarded(self, interface: str, protocol: str, port: int) -> None:
        named = self._forwards.get(interface)
        if named is not None and not any(one.protocol == protocol and port in one.ports for one in named):
            listed = ", ".join(_describe(one.protocol, one.first, one.last) for one in named)
            raise ForwardError(f"interface {interface} forwards only {listed}, not {protocol} {port}")

    def _add(self, where: str, port: int, candidates: Iterable[int]) -> int:
        output = ""
        for chosen in candidates:
            output = self._run_command(f"hostfwd_add {where}:{chosen}-:{port}")
            if not output:
                return chosen
        raise ForwardError(f"forwarding port {port} failed: {output}")


def _list_candidates(protocol: str, address: str, wanted: int) -> Iterator[int]:
    """Yield the wanted port if it is free and allowed, then other free ports, in case a program takes it first."""
    is_ours = wanted >= FIRST_ORDINARY or (wanted > 0 and address != LOOPBACK)
    if is_ours and _find_free_port(protocol, address, wanted) is not None:
        yield wanted
    for _ in range(_ATTEMPTS):
        yield _find_free_port(protocol, address) or 0


def _find_free_port(protocol: str, address: str, wanted: int = 0) -> int | None:
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with contextlib.closing(socket.socket(socket.AF_INET, kind)) as probe:
        try:
            probe.bind((address, wanted))
        except OSError:
            return None
        port: int = probe.getsockname()[1]
        return port


def _describe(protocol: str, first: int, last: int) -> str:
    return f"{protocol} {first}" if first == last else f"{protocol} {first}-{last}"
