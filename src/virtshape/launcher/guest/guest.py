"""
One domain, from its start to its end: what libvirt and QEMU let known about it becomes its report.

Everything that changes the report but requests happens on the thread that calls `run`.
"""

import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Literal

import libvirt

from virtshape.launcher.guest.board import Board
from virtshape.launcher.guest.ending import Clues, is_clear, judge
from virtshape.launcher.guest.inspection import inspect_domain
from virtshape.launcher.guest.lastwords import explain, find_last_words
from virtshape.launcher.guest.orphans import adopt_orphans
from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.layout import Layout
from virtshape.launcher.report import Reason, Volume

SETTLE_SECONDS: Final = 2.5
"""How long to wait for the rest of the story once a part of it says that the guest has ended."""
PULSE_SECONDS: Final = 30.0
"""How often to see whether the guest's directory is still there."""
AGENT_SECONDS: Final = 5
"""How long the guest's agent may take for an answer."""
_SUSPENSIONS: Final[dict[int, tuple[Reason, str]]] = {
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED_IOERROR: ("IOError", "paused by QEMU: a disk could not be read or written"),
    libvirt.VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG: ("Watchdog", "paused by the guest's watchdog"),
}
PANIC_SECONDS: Final = 0.3
"""How long after a pause that nobody asked for a panic is told that was the cause of it."""
_log = logging.getLogger(__name__)


class Guest:
    """Runs one domain and keeps its report."""

    def __init__(self, connection: Any, plan: Plan, layout: Layout, board: Board) -> None:
        self.domain: Any = None
        self.plan = plan
        self.clues = Clues()
        self.on_agent: Callable[[], None] = lambda: None
        """Called when the guest's agent connects."""
        self._connection = connection
        self._layout = layout
        self._board = board
        self._happenings: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._exits: dict[int, int] = {}
        self._pid: int | None = None
        self._pausing = plan.paused

    def begin(self, *, anew: bool) -> bool:
        """Start the domain, or find it running if it is not to start anew; False if it does not run then."""
        self._register()
        if not (self._create() if anew else self._find()):
            return False
        with contextlib.suppress(libvirt.libvirtError):
            self.domain.agentSetResponseTimeout(AGENT_SECONDS, 0)
        self._pid = self._find_pid()
        self._describe()
        return True

    def run(self) -> None:
        """Keep the report up to date until the guest has ended."""
        self._react_until(lambda: is_clear(self.clues))
        self.clues.last_words = find_last_words(self._layout.find_qemu_log(self.plan.name))
        ending = judge(self.clues)
        _log.info("the guest has ended: %s", ending.message)
        self._board.post(
            state=ending.state,
            reason=ending.reason,
            message=ending.message,
            agent=False,
            exit_code=self.clues.exit_code,
        )
        self._react_until(lambda: self.clues.stopped)  # libvirt has cleaned up behind QEMU by then

    def _react_until(self, holds: Callable[[], bool]) -> None:
        """React to what happens until something holds, or for a while once the guest has ended."""
        while not holds():
            try:
                self._happenings.get(timeout=SETTLE_SECONDS if self._has_ended() else PULSE_SECONDS)()
            except queue.Empty:
                if self._has_ended():
                    return
                self._end_without_directory()

    def pause(self) -> None:
        """Halt the guest's CPUs."""
        self._pausing = True
        self.domain.suspend()

    def shut_down(self) -> None:
        """Press the power button, or have the guest's agent do as much."""
        flags = libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN
        if self._board.report.agent:
            flags |= libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT
        try:
            self.domain.shutdownFlags(flags)
        except libvirt.libvirtError as error:
            _log.info("the guest cannot be told to shut down: %s", error)

    def expire(self, grace: float) -> None:
        """End a guest that has used up its time to shut down."""
        self.clues.grace = grace
        self.kill("expired" if grace else "kill")

    def kill(self, why: Literal["expired", "kill"]) -> None:
        """End the guest now."""
        self.clues.asked = why
        try:
            self.domain.destroy()
        except libvirt.libvirtError as error:
            _log.info("the guest cannot be ended: %s", error)

    def _end_without_directory(self) -> None:
        """End a guest whose directory was deleted: nobody could ever find it again."""
        if not self._layout.order.exists():
            _log.warning("the guest's directory is gone, and so is the guest")
            self.kill("kill")

    def _find(self) -> bool:
        try:
            self.domain = self._connection.lookupByName(self.plan.name)
        except libvirt.libvirtError:
            words = "the guest has ended while its launcher process was gone"
            self._board.post(state="failed", reason="LauncherLost", message=words)
            return False
        return True

    def _create(self) -> bool:
        adopt_orphans(lambda pid, code: self._happenings.put(partial(self._on_exit, pid, code)))
        flags = libvirt.VIR_DOMAIN_START_PAUSED if self.plan.paused else 0
        try:
            self.domain = self._connection.createXML(self.plan.xml, flags)
        except libvirt.libvirtError as error:
            words = explain(error.get_error_message() or str(error))
            self._board.post(state="failed", reason="NotStarted", message=words)
            return False
        return True

    def _describe(self) -> None:
        """Report what the domain turned out to be."""
        found = inspect_domain(self.domain.XMLDesc(0), self.plan.addresses)
        state, _ = self.domain.state()
        paused = state == libvirt.VIR_DOMAIN_PAUSED
        self._board.post(
            state="paused" if paused else "running",
            reason="PausedByUser" if paused else "",
            machine=found.machine,
            interfaces=found.interfaces,
            volumes=tuple(self._measure(volume) for volume in found.volumes),
            qemu_pid=self._pid,
        )
        if found.agent:
            self._on_agent(libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED)

    def _measure(self, volume: Volume) -> Volume:
        try:
            size, *_ = self.domain.blockInfo(volume.target)
        except libvirt.libvirtError:  # an empty drive
            return volume
        return Volume(name=volume.name, target=volume.target, size=size)

    def _find_pid(self) -> int | None:
        try:
            return int(self._layout.find_pid_file(self.plan.name).read_text())
        except (FileNotFoundError, ValueError):  # it has ended already
            return None

    def _has_ended(self) -> bool:
        if self._pid in self._exits:
            self.clues.exit_code = self._exits[self._pid]
        return self.clues.stopped or self.clues.exit_code is not None

    def _register(self) -> None:
        """Have what libvirt tells from now on end up in `run`."""

        def listen(event: int, react: Callable[..., None]) -> None:
            def put(connection: Any, domain: Any, *facts: Any) -> None:
                del connection, domain
                self._happenings.put(partial(react, *facts[:-1]))

            self._connection.domainEventRegisterAny(None, event, put, None)

        listen(libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._on_lifecycle)
        listen(libvirt.VIR_DOMAIN_EVENT_ID_REBOOT, self._on_reboot)
        listen(libvirt.VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE, self._on_agent)

    def _on_exit(self, pid: int, code: int) -> None:
        self._exits[pid] = code
        if pid == self._pid:
            self.clues.exit_code = code

    def _on_lifecycle(self, event: int, detail: int) -> None:
        match event:
            case libvirt.VIR_DOMAIN_EVENT_SUSPENDED if not self.clues.shut_down:
                self._on_pause(detail)
            case libvirt.VIR_DOMAIN_EVENT_RESUMED:
                self.clues.shut_down = ""
                self._pausing = False
                self._board.post(state="running", reason="", message="")
            case libvirt.VIR_DOMAIN_EVENT_SHUTDOWN if not self.clues.shut_down:
                by_guest = detail != libvirt.VIR_DOMAIN_EVENT_SHUTDOWN_HOST
                self.clues.shut_down = "guest" if by_guest else "host"
            case libvirt.VIR_DOMAIN_EVENT_CRASHED:
                self.clues.panicked = True
            case libvirt.VIR_DOMAIN_EVENT_STOPPED:
                self.clues.stopped = True
                self.clues.crashed = detail == libvirt.VIR_DOMAIN_EVENT_STOPPED_FAILED
                self.clues.panicked |= detail == libvirt.VIR_DOMAIN_EVENT_STOPPED_CRASHED

    def _on_pause(self, detail: int) -> None:
        if detail in _SUSPENSIONS:
            reason, message = _SUSPENSIONS[detail]
            self._board.post(state="paused", reason=reason, message=message)
        elif self._pausing:
            self._board.post(state="paused", reason="PausedByUser", message="")
        else:
            look_again = threading.Timer(PANIC_SECONDS, self._happenings.put, [self._confirm_pause])
            look_again.daemon = True
            look_again.start()

    def _confirm_pause(self) -> None:
        with contextlib.suppress(libvirt.libvirtError):  # it has ended
            state, _ = self.domain.state()
            if state == libvirt.VIR_DOMAIN_PAUSED and not self.clues.panicked and self._board.report.state == "running":
                self._board.post(state="paused", reason="", message="paused by QEMU")

    def _on_reboot(self) -> None:
        self.clues.shut_down = ""
        _log.info("the guest restarts")

    def _on_agent(self, state: int, reason: int = 0) -> None:
        del reason
        connected = state == libvirt.VIR_CONNECT_DOMAIN_EVENT_AGENT_LIFECYCLE_STATE_CONNECTED
        self._board.post(agent=connected)
        if connected:
            self.on_agent()
