"""A failing thread of a launcher process is logged with one traceback, noted in the report, and restarted."""

import ipaddress
import json
import logging
import queue
import secrets
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from virtshape.launcher import threads
from virtshape.launcher.controlprotocol import Answer
from virtshape.launcher.guest.loglimit import limit_logs_forever
from virtshape.launcher.guest.plan import Check, Checks, Login
from virtshape.launcher.guest.probes import ProbeWorkers
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.guest.server import ControlServer
from virtshape.launcher.guest.shutdown import GracefulShutdown
from virtshape.launcher.netns import dns
from virtshape.launcher.report import Note, Report
from virtshape.launcher.threads import start_thread
from virtshape.supervise.failures import Backoff

SOON = 240.0
FAULT = "injected fault"
PROBE = Check(way="ping", period=0.01)


class Fault:
    """A callable and a path that raise an error until `is_repaired` is set."""

    def __init__(self) -> None:
        self.is_repaired = False

    def __call__(self, *given: Any) -> Any:
        del given
        if not self.is_repaired:
            raise RuntimeError(FAULT)
        return ""

    def __fspath__(self) -> str:
        self()
        return "/nonexistent"


class Domain:
    """A domain whose guest agent calls raise an error."""

    def __init__(self, fault: Fault) -> None:
        self.guestInfo = self.setUserPassword = fault


@pytest.fixture(autouse=True)
def _quick_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BACKOFF", Backoff(first=0.01, longest=0.02, healthy=1.0))


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="threads-") as name:  # socket paths must be short
        yield Path(name)


@pytest.fixture
def reports(directory: Path) -> ReportPublisher:
    return ReportPublisher(directory / "report.json", Report(state="running", agent=True))


Start = Callable[[Fault, ReportPublisher, Path, pytest.MonkeyPatch], None]


def start_readiness(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    del directory, patch
    ProbeWorkers(Checks(readiness=PROBE), reports, fault, lambda _: None).start()


def start_liveness(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    del directory, patch
    ProbeWorkers(Checks(liveness=PROBE), reports, fault, lambda _: None).start()


def start_agent_poller(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    del directory
    _require_libvirt()
    from virtshape.launcher.guest import agentpoller

    patch.setattr(agentpoller, "POLL_SECONDS", 0.01)
    patch.setattr(agentpoller, "read_os", lambda _: None)
    patch.setattr(agentpoller, "read_interfaces", lambda _: ())
    agentpoller.AgentPoller(Domain(fault), reports).start()


def start_credentials(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    _require_libvirt()
    from virtshape.launcher.guest import credentials

    patch.setattr(credentials, "SYNC_SECONDS", 0.01)
    secret = directory / "secret"
    secret.mkdir()
    (secret / "root").write_text("password")
    credentials.CredentialSync([Login(directory=str(secret))], Domain(fault), reports).start()


def start_shutdown(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    del directory, patch

    def shut_down() -> None:
        fault()
        shutdown.close()

    shutdown = GracefulShutdown(shut_down, lambda _: None, reports)
    shutdown.request(600)


def start_dns_relay(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dns, "DNS_PORT", 0)

    def choose(limit: int) -> int:
        fault()
        return limit - 1

    patch.setattr(secrets, "randbelow", choose)
    relay = dns.Relay(ipaddress.ip_address("127.0.0.1"), 9)
    relay.open(directory)
    relay.start(reports)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x" * 20, relay._inside.getsockname())  # noqa: SLF001


def start_server(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    accept = socket.socket.accept

    def accept_or_fail(listener: socket.socket) -> Any:
        fault()
        return accept(listener)

    patch.setattr(socket.socket, "accept", accept_or_fail)
    ControlServer(directory / "control.sock", reports, lambda _: Answer())


def start_log_limit(fault: Fault, reports: ReportPublisher, directory: Path, patch: pytest.MonkeyPatch) -> None:
    del directory, patch
    broken: Any = fault
    limit_logs_forever([broken], seconds=0.01, notes=reports)


THREADS: dict[str, tuple[Start, str]] = {
    "the readiness probe": (start_readiness, "spec.readinessProbe"),
    "the liveness probe": (start_liveness, "spec.livenessProbe"),
    "polling the guest agent": (start_agent_poller, "status.guestOSInfo"),
    "setting credentials in the guest": (start_credentials, "spec.accessCredentials"),
    "stopping the guest": (start_shutdown, "spec.terminationGracePeriodSeconds"),
    "relaying DNS queries": (start_dns_relay, "spec.domain.devices.interfaces"),
    "accepting requests": (start_server, "status"),
    "limiting the logs": (start_log_limit, "spec.domain.devices.logSerialConsole"),
}


def _require_libvirt() -> None:
    if find_spec("libvirt") is None:
        pytest.skip("libvirt's binding is not installed: see the extra guests")


@pytest.mark.parametrize("name", THREADS)
def test_failing_thread_is_logged_reported_and_restarted(
    name: str,
    directory: Path,
    reports: ReportPublisher,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    start, field = THREADS[name]
    fault = Fault()
    start(fault, reports, directory, monkeypatch)
    note = Note(field, f"{name} failed: RuntimeError: {FAULT}; trying again")
    assert reports.wait_for(lambda report: report.notes == (note,), SOON)
    fault.is_repaired = True
    assert reports.wait_for(lambda report: not report.notes, SOON)
    failures = [record for record in caplog.records if f"{name} failed: " in record.message]
    assert len([record for record in failures if record.exc_info]) == 1
    reports.publish(state="succeeded")


def test_thread_that_collects_exit_codes_continues_after_a_failure(tmp_path: Path) -> None:
    """Run in a separate process, because the process becomes the parent of its orphaned descendants."""
    program = """
        import json, os, sys, time
        from pathlib import Path
        from virtshape.launcher import threads
        from virtshape.launcher.guest.orphans import adopt_orphans
        from virtshape.launcher.guest.reportpublisher import ReportPublisher
        from virtshape.launcher.report import Report
        from virtshape.supervise.failures import Backoff

        threads.BACKOFF = Backoff(first=0.01, longest=0.02, healthy=600)
        codes = []

        def on_exit(pid, code):
            codes.append(code)
            if len(codes) == 1:
                raise RuntimeError("injected fault")

        def leave_orphan(code):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    os._exit(code)
                os._exit(0)
            os.wait()

        reports = ReportPublisher(Path(sys.argv[1]), Report(state="running"))
        adopt_orphans(on_exit, reports)
        for code in (3, 4):
            count = len(codes)
            leave_orphan(code)
            while len(codes) == count:
                time.sleep(0.01)
        print(json.dumps([codes, [note.text for note in reports.report.notes]]), flush=True)
        os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "report.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SOON)
    note = f"collecting exit codes failed: RuntimeError: {FAULT}; trying again"
    assert json.loads(ran.stdout) == [[3, 4], [note]]
    assert ran.stderr.count("Traceback") == 1


def test_guest_is_killed_at_the_deadline_even_if_the_shutdown_request_fails(reports: ReportPublisher) -> None:
    ended: list[float] = []

    def expire(grace: float) -> None:
        ended.append(grace)
        reports.publish(state="failed")

    GracefulShutdown(Fault(), expire, reports).request(0.3)
    assert reports.wait_for(lambda report: report.final, SOON)
    assert ended == [0.3]


def test_thread_without_a_report_is_logged_and_restarted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    runs: queue.Queue[int] = queue.Queue()

    def run() -> None:
        runs.put(runs.qsize() + 1)
        if runs.qsize() < 4:
            raise ValueError(f"attempt {runs.qsize()}")

    start_thread(run, "testing").join(SOON)
    assert runs.qsize() == 4
    records = [record for record in caplog.records if record.message.startswith("testing ")]
    assert [bool(record.exc_info) for record in records] == [True, False, False, False]
    assert records[-1].message == "testing works again"
