"""
A update at the guest from inside, through its agent: when it connects, on request, and now and then.

A guest whose agent is silent is left in peace until the next time.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import libvirt

from virtshape.launcher.guest.agent import GuestInfo, join_interfaces, read_interfaces, read_os
from virtshape.launcher.guest.reports import ReportPublisher

POLL_SECONDS: Final = 30.0
_SYSTEM: Final = (
    libvirt.VIR_DOMAIN_GUEST_INFO_OS | libvirt.VIR_DOMAIN_GUEST_INFO_HOSTNAME | libvirt.VIR_DOMAIN_GUEST_INFO_TIMEZONE
)
_log = logging.getLogger(__name__)


class AgentPoller:
    """Keeps what the agent tells in the report."""

    def __init__(self, domain: Any, reports: ReportPublisher) -> None:
        self._domain = domain
        self._reports = reports
        self._known = reports.report.interfaces
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look now, and again from time to time."""
        self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="looking", daemon=True)
            self._thread.start()

    def query(self, topics: int) -> GuestInfo:
        """Ask the agent; libvirt's error if it does not answer."""
        info: GuestInfo = self._domain.guestInfo(topics, 0)
        return info

    def query_system(self) -> GuestInfo:
        """Ask the agent what system it is in."""
        return self.query(_SYSTEM)

    def _run(self) -> None:
        while not self._reports.report.final:
            self._wanted.wait(POLL_SECONDS)
            self._wanted.clear()
            if self._reports.report.agent:
                self._try(lambda: self._reports.publish(os=read_os(self.query_system())))
                self._try(self._update_interfaces)

    def _update_interfaces(self) -> None:
        info = read_interfaces(self.query(libvirt.VIR_DOMAIN_GUEST_INFO_INTERFACES))
        self._reports.publish(interfaces=join_interfaces(self._known, info))

    def _try(self, update: Callable[[], object]) -> None:
        try:
            update()
        except libvirt.libvirtError as error:
            _log.info("the guest's agent does not answer: %s", error)
