"""Poll the guest agent for the operating system and interfaces: when the agent connects, and then periodically."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

import libvirt

from virtshape.launcher.guest.agent import GuestInfo, join_interfaces, read_interfaces, read_os
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.threads import start_thread

POLL_SECONDS: Final = 30.0
_SYSTEM: Final = (
    libvirt.VIR_DOMAIN_GUEST_INFO_OS | libvirt.VIR_DOMAIN_GUEST_INFO_HOSTNAME | libvirt.VIR_DOMAIN_GUEST_INFO_TIMEZONE
)
_log = logging.getLogger(__name__)


class AgentPoller:
    """Publishes the operating system and the interfaces that the guest agent reports."""

    def __init__(self, domain: Any, reports: ReportPublisher) -> None:
        self._domain = domain
        self._reports = reports
        self._known = reports.report.interfaces
        self._triggered = threading.Event()
        self._is_started = False

    def start(self) -> None:
        """Poll immediately; the first call also starts periodic polling."""
        self._triggered.set()
        if not self._is_started:
            self._is_started = True
            start_thread(self._run, "polling the guest agent", field="status.guestOSInfo", notes=self._reports)

    def query(self, topics: int) -> GuestInfo:
        """Return these types of information from the guest agent; raise libvirtError if the agent does not answer."""
        info: GuestInfo = self._domain.guestInfo(topics, 0)
        return info

    def query_system(self) -> GuestInfo:
        """Query the agent for the operating system, host name and time zone."""
        return self.query(_SYSTEM)

    def _run(self) -> None:
        while not self._reports.report.final:
            self._triggered.wait(POLL_SECONDS)
            self._triggered.clear()
            if self._reports.report.agent:
                self._try(lambda: self._reports.publish(os=read_os(self.query_system())))
                self._try(self._update_interfaces)

    def _update_interfaces(self) -> None:
        reported = read_interfaces(self.query(libvirt.VIR_DOMAIN_GUEST_INFO_INTERFACES))
        self._reports.publish(interfaces=join_interfaces(self._known, reported))

    def _try(self, update: Callable[[], object]) -> None:
        try:
            update()
        except libvirt.libvirtError as error:
            _log.info("querying the guest agent failed: %s; retrying in %g s", error, POLL_SECONDS)
