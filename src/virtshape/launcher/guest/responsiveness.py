"""Check that QEMU responds, and publish in the report why it does not."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.threads import start_thread

CHECK_SECONDS: Final = 5.0
"""How often to check whether QEMU's process is stopped."""
PING_SECONDS: Final = 30.0
"""How often to send a command to QEMU's monitor, if QEMU answered the last one."""
LIMIT_SECONDS: Final = 15.0
"""How long QEMU may take to answer."""
START_SECONDS: Final = 15.0
"""How long QEMU may take to start before the report says so: large guests need seconds."""
_STOPPED: Final = "QEMU is stopped by a signal: process {pid} continues after SIGCONT"
_SILENT: Final = "QEMU has not answered its monitor for {seconds:g} seconds"
_NOT_STARTED: Final = "QEMU has not finished its start after {seconds:g} seconds"


class ResponseCheck:
    """Checks one QEMU process until its guest has stopped; `ping` returns once QEMU has answered, or raises OSError."""

    def __init__(self, pid: int, ping: Callable[[], object], reports: ReportPublisher) -> None:
        self._pid = pid
        self._ping = ping
        self._reports = reports
        self._pinged_at = time.monotonic()

    def start(self) -> None:
        """Start to check."""
        start_thread(self._run, "checking QEMU", field="status", notes=self._reports)

    def _run(self) -> None:
        while not self._reports.wait_for(lambda report: report.final, CHECK_SECONDS):
            self.check()

    def check(self) -> None:
        """Check once; send a command to the monitor if one is due, or if QEMU did not respond before."""
        if is_stopped(self._pid):
            self._reports.publish(unresponsive=_STOPPED.format(pid=self._pid))
        elif self._reports.report.unresponsive or time.monotonic() - self._pinged_at >= PING_SECONDS:
            self._send_ping()

    def _send_ping(self) -> None:
        message = _SILENT.format(seconds=LIMIT_SECONDS)
        timer = _publish_later(LIMIT_SECONDS, message, self._reports)
        try:
            self._ping()
        except OSError:  # libvirt is busy with another command, or the guest has stopped
            return
        finally:
            timer.cancel()
            self._pinged_at = time.monotonic()
        self._reports.publish(unresponsive="")


def report_slow_start(reports: ReportPublisher) -> threading.Timer:
    """Publish that QEMU has not started yet, unless the returned timer is cancelled in time."""
    return _publish_later(START_SECONDS, _NOT_STARTED.format(seconds=START_SECONDS), reports)


def is_stopped(pid: int) -> bool:
    """Return True if a signal or a debugger has stopped the process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # the process has exited
        return False
    return fields[0] in ("T", "t")


def _publish_later(seconds: float, message: str, reports: ReportPublisher) -> threading.Timer:
    timer = threading.Timer(seconds, lambda: reports.publish(unresponsive=message))
    timer.daemon = True
    timer.start()
    return timer
