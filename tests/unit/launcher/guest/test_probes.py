"""Readiness and liveness probes while a guest runs."""

import queue
from pathlib import Path

from virtshape.launcher.check import Check, Checks
from virtshape.launcher.guest.probes import ProbeWorkers
from virtshape.launcher.guest.reports import ReportPublisher
from virtshape.launcher.report import Report

SOON = 60.0
CHECK = Check(way="ping", period=0.01, failures=2)


class Guest:
    """A guest whose checks return `problem`."""

    def __init__(self, directory: Path, checks: Checks, report: Report) -> None:
        self.reports = ReportPublisher(directory / "report.json", report)
        self.problem = "it sleeps"
        self.given_up: queue.Queue[str] = queue.Queue()
        ProbeWorkers(checks, self.reports, lambda _: self.problem, self.given_up.put).start()


def test_guest_is_ready_only_while_its_check_succeeds(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(readiness=CHECK), Report(state="running", unready="nobody has asked"))
    assert guest.reports.wait_for(lambda report: report.unready == "readiness probe failed: it sleeps", SOON)
    guest.problem = ""
    assert guest.reports.wait_for(lambda report: not report.unready, SOON)
    guest.problem = "it is ill"
    assert guest.reports.wait_for(lambda report: report.unready == "readiness probe failed: it is ill", SOON)
    guest.reports.publish(state="succeeded")
    assert guest.given_up.empty()


def test_failed_liveness_is_reported_once(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(liveness=CHECK), Report(state="running"))
    assert guest.given_up.get(timeout=SOON) == "it sleeps"
    assert guest.reports.report == Report(state="running")


def test_paused_guest_is_not_probed(tmp_path: Path) -> None:
    guest = Guest(tmp_path, Checks(liveness=CHECK), Report(state="paused"))
    assert not guest.reports.wait_for(lambda report: report.final, 0.1)
    assert guest.given_up.empty()
    guest.reports.publish(state="running")
    assert guest.given_up.get(timeout=SOON) == "it sleeps"
