"""The guest's own network, as its launcher process sets it up before anything else: a namespace, or nothing."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.launcher.layout import Layout
from virtshape.launcher.netns.namespace import GuestNetwork, enter_namespace, join_namespace
from virtshape.launcher.netns.ports import PortKey, choose_ports, list_forwards, parse_launch_request
from virtshape.launcher.note import Note
from virtshape.launcher.report import Report

FIELD: Final = "spec.domain.devices.interfaces"
_log = logging.getLogger(__name__)


class Networking:
    """The network namespace of a guest, if it has one."""

    def __init__(self, network: GuestNetwork | None = None, chosen: Mapping[PortKey, int] | None = None) -> None:
        self._network = network
        self.ports: Mapping[PortKey, int] | None = chosen
        """Ports that named ports of the guest have to have, by those; None if any will do."""

    def start(self) -> tuple[Note, ...]:
        """Wait until the guest has a way to the outside; return what is to be said about it."""
        if self._network is None:
            return ()
        forwarded, failure = self._network.start()
        if self.ports and not forwarded:
            self.ports = {}
        if not failure:
            return ()
        _log.warning("the guest has no way to the outside: %s", failure)
        return (Note(FIELD, f"the guest has no way to the outside, since pasta does not start: {failure}"),)

    def close(self) -> None:
        """Clear up behind a guest that has ended."""
        if self._network is not None:
            self._network.close()


def set_up_network(layout: Layout, earlier: Report | None) -> Networking:
    """Make the guest's network namespace, or join it if the guest runs; NamespaceError if that cannot be."""
    isolation, named = parse_launch_request(layout.launch_request.read_bytes())
    running = earlier.qemu_pid if earlier is not None else None
    if running is not None:
        return Networking(join_namespace(layout.directory, running) if _is_elsewhere(running) else None)
    if isolation != "namespace":
        return Networking()
    chosen = choose_ports(named)
    return Networking(enter_namespace(layout.directory, list_forwards(chosen)), chosen)


def _is_elsewhere(process: int) -> bool:
    """Return whether a process is in another network namespace; False if it has ended."""
    try:
        return not Path(f"/proc/{process}/ns/net").samefile("/proc/self/ns/net")
    except OSError:
        return False
