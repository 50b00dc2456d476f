"""
Run one domain: start or find the domain, turn libvirt's events into reports, and decide why the domain stopped.

Events are handled on the thread that calls `run`.
"""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal

import libvirt
import libvirt_qemu

from virtshape.launcher.guest.inspection import inspect_domain
from virtshape.launcher.guest.orphans import adopt_orphans
from virtshape.launcher.guest.outcome import ExitEvidence, decide_outcome, is_conclusive
from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.guest.qemulog import find_last_message, format_start_error
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.guest.responsiveness import ResponseCheck, report_slow_start
from virtshape.launcher.layout import Layout
from virtshape.launcher.report import Reason, Volume

DRAIN_SECONDS: Final = 2.5
"""How long to wait for further events after the guest has stopped."""
DIRECTORY_CHECK_SECONDS: Final = 30.0
"""How often to check that the guest's directory still exists."""
AGENT_SECONDS: Final = 5
"""Timeout of guest agent commands."""
_SUSPENSIONS: Final[dict[int, tuple[Reason, str]]] = {
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED_IOERROR: ("IOError", "paused by QEMU: a disk could not be read or written"),
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG: ("Watchdog", "paused by the guest's watchdog"),
}
PANIC_SECONDS: Final = 0.3
"""How long to wait for a panic event after a pause that was not requested: a panic may have caused the pause."""
_log = logging.getLogger(__name__)


class Guest:
    """Runs one domain and publishes its reports."""

    def __init__(self, connection: Any, plan: Plan, layout: Layout, reports: ReportPublisher) -> None:
        self.domain: Any = None
        self.plan = plan
        self.evidence = ExitEvidence()
        self.on_agent: Callable[[], None] = lambda: None
        """Called when the guest's agent connects."""
        self._connection = connection
        self.layout = layout
        self._reports = reports
        self._events: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._exits: dict[int, int] = {}
        self._pid: int | None = None
        self._pause_requested = plan.paused

    def begin(self, *, is_new: bool) -> bool:
        """Start a new domain, or find a running one; return False if the domain does not run."""
        self._register()
        if not (self._create() if is_new else self._attach()):
            return False
        self._pid = self._find_pid()
        if self._pid is not None:
            ResponseCheck(self._pid, self._ping, self._reports).start()
        with contextlib.suppress(libvirt.libvirtError):
            self.domain.agentSetResponseTimeout(AGENT_SECONDS, 0)
        self._publish_description()
        return True

    def run(self) -> None:
        """Handle events until the guest has stopped, and publish why it stopped."""
        self._handle_events_until(lambda: is_conclusive(self.evidence))
        self.evidence.last_message = find_last_message(self.layout.get_qemu_log(self.plan.name))
        outcome = decide_outcome(self.evidence)
        _log.info("guest ended: %s", outcome.message)
        self._reports.publish(
            state=outcome.state,
            reason=outcome.reason,
            message=outcome.message,
            agent=False,
            exit_code=self.evidence.exit_code,
        )
        self._handle_events_until(lambda: self.evidence.stopped)  # wait until libvirt has cleaned up after QEMU

    def _handle_events_until(self, holds: Callable[[], bool]) -> None:
        """Handle events until a condition holds or, after the guest has stopped, until no more events arrive."""
        while not holds():
            try:
                self._events.get(timeout=DRAIN_SECONDS if self._has_ended() else DIRECTORY_CHECK_SECONDS)()
            except queue.Empty:
                if self._has_ended():
                    return
                self._kill_if_directory_is_gone()

    def pause(self) -> None:
        """Pause the guest's CPUs."""
        self._pause_requested = True
        self.domain.suspend()

    def unpause(self) -> None:
        """Resume the guest's CPUs."""
        self.domain.resume()

    def shut_down(self) -> None:
        """Request a shutdown through the guest agent or the ACPI power button."""
        flags = libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN
        if self._reports.report.agent:
            flags |= libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT
        try:
            self.domain.shutdownFlags(flags)
        except libvirt.libvirtError as error:
            _log.info("requesting a shutdown failed: %s; repeating it until the grace period expires", error)

    def expire(self, grace: float) -> None:
        """Kill the guest because its grace period has expired."""
        self.evidence.grace = grace
        self.kill("expired" if grace else "kill")

    def kill(self, why: Literal["expired", "kill"]) -> None:
        """Kill the guest and record the reason."""
        self.evidence.ended_by_us = why
        try:
            self.domain.destroy()
        except libvirt.libvirtError as error:
            _log.warning("killing the guest failed: %s; QEMU is killed when the instance is deleted", error)

    def _kill_if_directory_is_gone(self) -> None:
        """Kill the guest if its directory was deleted, because a later launcher process could not find the guest."""
        if not self.layout.launch_request.exists():
            _log.warning("the guest's directory was deleted; killing the guest")
            self.kill("kill")

    def _attach(self) -> bool:
        try:
            self.domain = self._connection.lookupByName(self.plan.name)
        except libvirt.libvirtError:
            message = "the guest ended while its launcher process was not running"
            self._reports.publish(state="failed", reason="LauncherLost", message=message)
            return False
        return True

    def _create(self) -> bool:
        adopt_orphans(lambda pid, code: self._events.put(partial(self._on_exit, pid, code)), self._reports)
        flags = libvirt.VIR_DOMAIN_START_PAUSED if self.plan.paused else 0
        slow_start = report_slow_start(self._reports)
        try:
            self.domain = self._connection.createXML(self.plan.xml, flags)
        except libvirt.libvirtError as error:
            message = format_start_error(error.get_error_message() or str(error))
            self._reports.publish(state="failed", reason="NotStarted", message=message)
            return False
        finally:
            slow_start.cancel()
        self._reports.publish(unresponsive="")
        return True

    def _ping(self) -> None:
        """Wait until QEMU answers a command; raise ConnectionError if libvirt cannot send it."""
        try:
            libvirt_qemu.qemuMonitorCommand(self.domain, '{"execute": "query-status"}', 0)
        except libvirt.libvirtError as error:
            raise ConnectionError(str(error)) from error

    def _publish_description(self) -> None:
        """Publish the domain's state and actual configuration."""
        found = inspect_domain(self.domain.XMLDesc(0), self.plan.addresses)
        state, _ = self.domain.state()
        paused = state == libvirt.VIR_DOMAIN_PAUSED
        self._reports.publish(
            state="paused" if paused else "running",
            reason="PausedByUser" if paused else "",
            machine=found.machine,
            interfaces=found.interfaces,
            volumes=tuple(self._measure(volume) for volume in found.volumes),
            qemu_pid=self._pid,
        )
        if found.agent:
            self._on_agent(libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED)

    def publish_volumes(self) -> None:
        """Publish the disks that the domain has now."""
        found = inspect_domain(self.domain.XMLDesc(0), self.plan.addresses)
        self._reports.publish(volumes=tuple(self._measure(volume) for volume in found.volumes))

    def _measure(self, volume: Volume) -> Volume:
        try:
            size, *_ = self.domain.blockInfo(volume.target)
        except libvirt.libvirtError:  # an empty CD-ROM drive has no size
            return volume
        return Volume(name=volume.name, target=volume.target, size=size)

    def _find_pid(self) -> int | None:
        try:
            return int(self.layout.get_pid_file(self.plan.name).read_text())
        except (FileNotFoundError, ValueError):  # QEMU has already exited
            return None

    def _has_ended(self) -> bool:
        if self._pid in self._exits:
            self.evidence.exit_code = self._exits[self._pid]
        return self.evidence.stopped or self.evidence.exit_code is not None

    def _register(self) -> None:
        """Register for libvirt's events and queue them for `run`."""

        def listen(event: int, react: Callable[..., None]) -> None:
            def put(connection: Any, domain: Any, *facts: Any) -> None:
                del connection, domain
                self._events.put(partial(react, *facts[:-1]))

            self._connection.domainEventRegisterAny(None, event, put, None)

        listen(libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._on_lifecycle)
        listen(libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, self._on_reboot)
        listen(libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, self._on_agent)
        listen(libvirt.VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, self._on_device_removed)

    def _on_exit(self, pid: int, code: int) -> None:
        self._exits[pid] = code
        if pid == self._pid:
            self.evidence.exit_code = code

    def _on_lifecycle(self, event: int, detail: int) -> None:
        match event:
            case libvirt.VIR_DOMAIN_EVENT_SUSPENDED if not self.evidence.shut_down:
                self._on_pause(detail)
            case libvirt.VIR_DOMAIN_EVENT_RESUMED:
                self.evidence.shut_down = ""
                self._pause_requested = False
                self._reports.publish(state="running", reason="", message="")
            case libvirt.VIR_DOMAIN_EVENT_SHUTDOWN if not self.evidence.shut_down:
                by_guest = detail != libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_HOST
                self.evidence.shut_down = "guest" if by_guest else "host"
            case libvirt.VIR_DOMAIN_EVENT_CRASHED:
                self.evidence.panicked = True
            case libvirt.VIR_DOMAIN_EVENT_STOPPED:
                self.evidence.stopped = True
                self.evidence.crashed = detail == libvirt.VIR_DOMAIN_EVENT_STOPPED_FAILED
                self.evidence.panicked |= detail == libvirt.VIR_DOMAIN_EVENT_STOPPED_CRASHED

    def _on_pause(self, detail: int) -> None:
        if detail in _SUSPENSIONS:
            reason, message = _SUSPENSIONS[detail]
            self._reports.publish(state="paused", reason=reason, message=message)
        elif self._pause_requested:
            self._reports.publish(state="paused", reason="PausedByUser", message="")
        else:
            timer = threading.Timer(PANIC_SECONDS, self._events.put, [self._confirm_pause])
            timer.daemon = True
            timer.start()

    def _confirm_pause(self) -> None:
        with contextlib.suppress(libvirt.libvirtError):  # the guest has stopped
            state, _ = self.domain.state()
            if (
                state == libvirt.VIR_DOMAIN_PAUSED
                and not self.evidence.panicked
                and self._reports.report.state == "running"
            ):
                self._reports.publish(state="paused", reason="", message="paused by QEMU")

    def _on_reboot(self) -> None:
        self.evidence.shut_down = ""
        _log.info("guest rebooted")

    def _on_device_removed(self, alias: str) -> None:
        _log.info("guest released the device %s", alias)
        with contextlib.suppress(libvirt.libvirtError):  # the guest has stopped
            self.publish_volumes()

    def _on_agent(self, state: int, reason: int = 0) -> None:
        del reason
        connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        self._reports.publish(agent=connected)
        if connected:
            self.on_agent()
