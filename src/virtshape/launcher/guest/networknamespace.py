"""Set up the guest's network namespace, if it has one, before the launcher process starts threads."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.launcher.layout import Layout
from virtshape.launcher.netns.namespace import GuestNetwork, enter_namespace, join_namespace
from virtshape.launcher.netns.ports import PortKey, choose_ports, list_forwards, parse_launch_request
from virtshape.launcher.report import Note, Report
from virtshape.launcher.threads import NotePublisher

FIELD: Final = "spec.domain.devices.interfaces"
_log = logging.getLogger(__name__)


class Networking:
    """The network namespace of a guest, if it has one."""

    def __init__(self, network: GuestNetwork | None = None, chosen: Mapping[PortKey, int] | None = None) -> None:
        self._network = network
        self.ports: Mapping[PortKey, int] | None = chosen
        """Host ports that the instance's listed ports must use; None if any host port is allowed."""

    def start(self, notes: NotePublisher) -> None:
        """Wait until the namespace is connected; publish notes about problems."""
        if self._network is None:
            return
        forwarded, failure = self._network.start(notes)
        if self.ports and not forwarded:
            self.ports = {}
        if failure:
            message = f"the guest has no external network: starting pasta failed: {failure}"
            _log.warning("%s", message)
            notes.replace_note(None, Note(FIELD, message))

    def close(self) -> None:
        """Stop pasta after the guest has stopped."""
        if self._network is not None:
            self._network.close()


def set_up_network(layout: Layout, earlier: Report | None) -> Networking:
    """Create the guest's network namespace, or join it if the guest runs; raise NamespaceError on failure."""
    isolation, named = parse_launch_request(layout.launch_request.read_bytes())
    running = earlier.qemu_pid if earlier is not None else None
    if running is not None:
        return Networking(join_namespace(layout.directory, running) if _is_elsewhere(running) else None)
    if isolation != "namespace":
        return Networking()
    chosen = choose_ports(named)
    return Networking(enter_namespace(layout.directory, list_forwards(chosen)), chosen)


def _is_elsewhere(process: int) -> bool:
    """Return True if a process is in another network namespace; False if the process has exited."""
    try:
        return not Path(f"/proc/{process}/ns/net").samefile("/proc/self/ns/net")
    except OSError:
        return False
