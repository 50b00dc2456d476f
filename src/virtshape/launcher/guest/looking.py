"""
A look at the guest from inside, through its agent: when it connects, on request, and now and then.

A guest whose agent is silent is left in peace until the next time.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import libvirt

from virtshape.launcher.guest.agent import Told, join_interfaces, read_interfaces, read_os
from virtshape.launcher.guest.board import Board

RECHECK_SECONDS: Final = 30.0
_SYSTEM: Final = (
    libvirt.VIR_DOMAIN_GUEST_INFO_OS | libvirt.VIR_DOMAIN_GUEST_INFO_HOSTNAME | libvirt.VIR_DOMAIN_GUEST_INFO_TIMEZONE
)
_log = logging.getLogger(__name__)


class Looking:
    """Keeps what the agent tells in the report."""

    def __init__(self, domain: Any, board: Board) -> None:
        self._domain = domain
        self._board = board
        self._known = board.report.interfaces
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Look now, and again from time to time."""
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="looking", daemon=True)
            self._thread.start()

    def ask(self, topics: int) -> Told:
        """Ask the agent; libvirt's error if it does not answer."""
        told: Told = self._domain.guestInfo(topics, 0)
        return told

    def ask_system(self) -> Told:
        """Ask the agent what system it is in."""
        return self.ask(_SYSTEM)

    def _run(self) -> None:
        while not self._board.report.final:
            self._wanted.wait(RECHECK_SECONDS)
            self._wanted.clear()
            if self._board.report.agent:
                self._try(lambda: self._board.post(os=read_os(self.ask_system())))
                self._try(self._look_at_interfaces)

    def _look_at_interfaces(self) -> None:
        told = read_interfaces(self.ask(libvirt.VIR_DOMAIN_GUEST_INFO_INTERFACES))
        self._board.post(interfaces=join_interfaces(self._known, told))

    def _try(self, look: Callable[[], object]) -> None:
        try:
            look()
        except libvirt.libvirtError as error:
            _log.info("the guest's agent does not answer: %s", error)
