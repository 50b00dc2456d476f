import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from virtshape.launcher.guest import responsiveness
from virtshape.launcher.guest.reportpublisher import ReportPublisher
from virtshape.launcher.guest.responsiveness import ResponseCheck, is_stopped, report_slow_start
from virtshape.launcher.report import Report

SOON = 240.0


@pytest.fixture
def reports(tmp_path: Path) -> ReportPublisher:
    return ReportPublisher(tmp_path / "report.json", Report(state="running"))


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


def wait_until_stopped(pid: int) -> None:
    deadline = time.monotonic() + SOON
    while not is_stopped(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_stopped_process_is_reported_until_it_continues(
    reports: ReportPublisher, process: subprocess.Popen[bytes]
) -> None:
    check = ResponseCheck(process.pid, lambda: None, reports)
    check.check()
    assert reports.report.unresponsive == ""
    os.kill(process.pid, signal.SIGSTOP)
    wait_until_stopped(process.pid)
    check.check()
    expected = f"QEMU is stopped by a signal: process {process.pid} continues after SIGCONT"
    assert reports.report.unresponsive == expected
    os.kill(process.pid, signal.SIGCONT)
    check.check()
    assert reports.report.unresponsive == ""


def test_process_that_does_not_answer_is_reported_until_it_answers(
    reports: ReportPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responsiveness, "PING_SECONDS", 0.0)
    monkeypatch.setattr(responsiveness, "LIMIT_SECONDS", 0.05)
    answered = threading.Event()
    check = ResponseCheck(os.getpid(), lambda: answered.wait(SOON), reports)
    thread = threading.Thread(target=check.check)
    thread.start()
    assert reports.wait_for(lambda report: bool(report.unresponsive), SOON)
    assert reports.report.unresponsive == "QEMU has not answered its monitor for 0.05 seconds"
    answered.set()
    thread.join(SOON)
    assert reports.report.unresponsive == ""


def test_failed_ping_changes_nothing(reports: ReportPublisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responsiveness, "PING_SECONDS", 0.0)

    def fail() -> None:
        raise ConnectionError("the guest has stopped")

    reports.publish(unresponsive="before")
    ResponseCheck(os.getpid(), fail, reports).check()
    assert reports.report.unresponsive == "before"


def test_slow_start_is_reported_unless_it_finishes_in_time(
    reports: ReportPublisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_slow_start(reports).cancel()
    monkeypatch.setattr(responsiveness, "START_SECONDS", 0.05)
    report_slow_start(reports)
    assert reports.wait_for(lambda report: bool(report.unresponsive), SOON)
    assert reports.report.unresponsive == "QEMU has not finished its start after 0.05 seconds"


def test_ended_process_is_not_stopped(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(SOON)
    assert not is_stopped(process.pid)
