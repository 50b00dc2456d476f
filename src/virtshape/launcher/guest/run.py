"""
Run a launcher process: prepare and start the guest, handle requests, and watch the guest until it stops.

The exit status is 0 if the guest succeeded.
"""

import logging
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Struct

from virtshape.api.wellknown import DEFAULT_GRACE_SECONDS
from virtshape.launcher.controlprotocol import Stop
from virtshape.launcher.guest.earlyrequests import EarlyRequestHandler
from virtshape.launcher.guest.libvirtdriver import (
    DriverError,
    can_skip_cpu_probe,
    configure_driver,
    exit_process,
    open_connection,
)
from virtshape.launcher.guest.loglimit import limit_logs_forever
from virtshape.launcher.guest.networknamespace import Networking, set_up_network
from virtshape.launcher.guest.plan import Plan
from virtshape.launcher.guest.planprocess import Preparation, Prepare
from virtshape.launcher.guest.reportpublisher import ReportPublisher, find_report
from virtshape.launcher.guest.server import ControlServer
from virtshape.launcher.layout import Layout, is_short_enough
from virtshape.launcher.netns.namespace import NamespaceError
from virtshape.launcher.report import Report

SUCCEEDED: Final = 0
FAILED: Final = 1
NOT_PROBED: Final = "the guest has not passed its readiness probe yet"
_KILLED: Final = "the guest was stopped before it started"
_log = logging.getLogger(__name__)


def main(directory: Path) -> NoReturn:
    """Run the guest whose launch request is in this directory, then exit."""
    exit_process(run(directory, prepare_guest))


def prepare_guest(directory: Path) -> Plan | Report:
    """Prepare the guest whose launch request is in this directory."""
    # Imported in the child process only, to keep this process small.
    from virtshape.launcher.guest.planning import make_plan

    return make_plan(directory)


class _Metadata(Struct):
    namespace: str = ""
    name: str = ""


class _Instance(Struct):
    metadata: _Metadata


class _LaunchRequest(Struct):
    """The fields of a launch request that identify the instance; the other fields are decoded in the child process."""

    vmi: _Instance


def read_guest_name(launch_request: bytes) -> str:
    """Return the namespace and name of the instance in a launch request, for log lines."""
    metadata = msgspec.json.decode(launch_request, type=_LaunchRequest).vmi.metadata
    return f"{metadata.namespace}/{metadata.name}"


def run(directory: Path, prepare: Prepare) -> int:
    """Run the guest, or take over a running guest from a process that was killed; return the exit status."""
    layout = Layout(directory)
    guest = read_guest_name(layout.launch_request.read_bytes())
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s %(name)s: {guest}: %(message)s")
    os.umask(0o077)
    os.chdir(directory)
    earlier = find_report(layout.report)
    if earlier is not None and earlier.final:
        return _status(earlier)
    reports = ReportPublisher(layout.report, msgspec.structs.replace(earlier or Report(), launcher_pid=os.getpid()))
    if not is_short_enough(directory):
        message = f"the path {directory} is too long for the sockets that QEMU needs there"
        return _status(reports.publish(state="failed", reason="NotStarted", message=message))
    try:
        networking = set_up_network(layout, earlier)  # must be called before this process starts threads
    except NamespaceError as error:
        return _status(reports.publish(state="failed", reason="NotStarted", message=str(error)))
    return _Process(layout, reports, prepare, networking).run()


class _Process:
    """A launcher process: prepares the guest, serves the control socket, and runs the guest until it stops."""

    def __init__(self, layout: Layout, reports: ReportPublisher, prepare: Prepare, networking: Networking) -> None:
        self._layout = layout
        self._reports = reports
        self._networking = networking
        self._is_new = reports.report.state == "starting"
        configure_driver(layout.libvirt, skip_cpu_probe=can_skip_cpu_probe(layout.launch_request.read_bytes()))
        self._preparation = Preparation(prepare, layout.directory) if self._is_new else None
        self._startup = EarlyRequestHandler(reports, self._preparation)
        self._server = ControlServer(layout.socket, reports, self._startup.answer)
        self._grace = float(DEFAULT_GRACE_SECONDS)
        _on_signal(lambda: self._server.answer(Stop(grace=self._grace)))

    def run(self) -> int:
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - the guest keeps running, and another process can take over
            _log.exception("launcher process failed; the server will start another one if the guest is still running")
            if self._reports.report.qemu_pid is None:
                message = f"the launcher process failed: {error!r}"
                self._reports.publish(state="failed", reason="LauncherLost", message=message)
        if self._reports.report.final:
            self._networking.close()
        self._startup.finish()
        self._server.close()
        return _status(self._reports.report)

    def _run(self) -> None:
        connection = self._connect()
        plan = self._find_plan() if connection is not None else None
        if connection is None or plan is None:
            return
        self._networking.start(self._reports)
        # Imported here: libvirt reads its settings when it is loaded.
        from virtshape.launcher.guest.guest import Guest
        from virtshape.launcher.guest.handler import RequestHandler
        from virtshape.launcher.guest.shutdown import GracefulShutdown

        self._grace = plan.grace
        guest = Guest(connection, plan, self._layout, self._reports)
        if not guest.begin(is_new=self._is_new):
            return
        logs = [self._layout.serial_log, self._layout.get_qemu_log(plan.name), self._layout.log]
        limit_logs_forever(logs, notes=self._reports)
        shutdown = GracefulShutdown(guest.shut_down, guest.expire, self._reports)
        handler = RequestHandler(guest, self._reports, shutdown, self._networking.ports)
        handler.open_ports()
        handler.start_probes()
        self._server.connect = handler.connect
        self._server.answer = handler.answer
        self._startup.finish(handler.answer)
        if self._startup.stop is not None:
            shutdown.request(self._startup.stop)
        guest.run()
        shutdown.close()

    def _connect(self) -> Any:
        """Connect to libvirt; if that fails, publish the failure and return None."""
        try:
            return open_connection(self._layout.libvirt)
        except DriverError as error:
            self._reports.publish(state="failed", reason="NotStarted", message=str(error))
            return None

    def _find_plan(self) -> Plan | None:
        """Wait for the plan, or read that of the previous process; return None after publishing a failure."""
        if self._preparation is None:
            return msgspec.json.decode(self._layout.plan.read_bytes(), type=Plan)
        outcome = self._preparation.wait()
        if self._startup.stop is not None:
            outcome = Report(state="failed", reason="Killed", message=_KILLED)
        if isinstance(outcome, Report):
            changes = {name: getattr(outcome, name) for name in ("state", "reason", "message", "refusals", "notes")}
            self._reports.publish(**changes)
            return None
        self._layout.plan.write_bytes(msgspec.json.encode(outcome))
        unready = NOT_PROBED if outcome.checks.readiness is not None else ""
        for note in outcome.notes:
            self._reports.replace_note(None, note)
        self._reports.publish(accelerator=outcome.accelerator, unready=unready)
        return outcome


def _on_signal(react: Callable[[], object]) -> None:
    def handle(number: int, frame: FrameType | None) -> None:
        del number, frame
        react()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)


def _status(report: Report) -> int:
    return SUCCEEDED if report.state == "succeeded" else FAILED
