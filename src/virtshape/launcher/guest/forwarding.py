"""
Ports that lead into a guest with user-mode networking, opened through QEMU's monitor while the guest runs.

They are on the loopback address of QEMU's network namespace, unless the ports that an instance names are to be reached
from outside. Where that namespace is the guest's own, named ports are forwarded to it from the machine's loopback.
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
"""Tells QEMU's monitor something; what it says, which is nothing if all is well."""


class ForwardError(Exception):
    """A port that cannot be opened, and why."""


class PortForwarder:
    """The ports that are open; asking twice for the same gives the same."""

    def __init__(
        self,
        plan: Plan,
        run_command: MonitorCommand,
        ports: Iterable[OpenPort] = (),
        chosen: Mapping[PortKey, int] | None = None,
    ) -> None:
        """`ports` are open already; `chosen` are the only ones that named ports may have."""
        self._netdevs = plan.netdevs
        self._forwards = plan.forwards
        self._address = plan.port_address
        self._run_command = run_command
        self._open = {(one.interface, one.protocol, one.port): one.here for one in ports}
        self._chosen = chosen

    def open_named(self) -> Iterator[OpenPort]:
        """Open the ports that the instance names, each under its own number where it can be; those that are open."""
        for interface, forwards in self._forwards.items():
            for forward in forwards:
                for port in forward.ports:
                    if self._chosen is not None and (interface, forward.protocol, port) not in self._chosen:
                        _log.warning("port %d of %s is not open on this machine: no free port", port, interface)
                        continue
                    try:
                        here = self.open(port, forward.protocol, interface, named=True)
                    except ForwardError as error:
                        _log.warning("%s", error)
                        continue
                    yield OpenPort(interface=interface, protocol=forward.protocol, port=port, here=here)

    def open(self, port: int, protocol: Literal["tcp", "udp"], interface: str = "", *, named: bool = False) -> int:
        """Open a port that leads to this one of the guest; its number, the same if it is a named one and can be."""
        interface = self._choose(interface)
        self._check(interface, protocol, port)
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
            which = f"the interface {interface}" if interface else "no interface of the guest"
            raise ForwardError(f"{which} has user-mode networking, so that no port can be opened")
        return next(iter(self._netdevs))

    def _check(self, interface: str, protocol: str, port: int) -> None:
        named = self._forwards.get(interface)
        if named is not None and not any(one.protocol == protocol and port in one.ports for one in named):
            listed = ", ".join(_describe(one.protocol, one.first, one.last) for one in named)
            raise ForwardError(f"the interface {interface} lets in {listed} alone, not {protocol} {port}")

    def _add(self, where: str, port: int, candidates: Iterable[int]) -> int:
        output = ""
        for chosen in candidates:
            output = self._run_command(f"hostfwd_add {where}:{chosen}-:{port}")
            if not output:
                return chosen
        raise ForwardError(f"port {port} could not be opened: {output}")


def _list_candidates(protocol: str, address: str, wanted: int) -> Iterator[int]:
    """The one that is wanted if it is free, then others; another program may take one that was free a moment ago."""
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
