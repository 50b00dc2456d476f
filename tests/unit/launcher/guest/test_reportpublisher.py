import threading
from pathlib import Path

import pytest

from virtshape.launcher.guest.reportpublisher import ReportPublisher, find_report
from virtshape.launcher.report import Report


def test_report_file_has_the_latest_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert find_report(path) is None
    reports = ReportPublisher(path, Report(launcher_pid=7))
    assert find_report(path) == Report(launcher_pid=7)
    reports.publish(state="running", machine="pc-q35-7.2")
    assert find_report(path) == reports.report == Report(state="running", machine="pc-q35-7.2", launcher_pid=7)
    assert [one.name for one in tmp_path.iterdir()] == ["report.json"]


def test_final_report_is_not_changed(tmp_path: Path) -> None:
    reports = ReportPublisher(tmp_path / "report.json", Report())
    ended = reports.publish(state="failed", reason="Killed")
    assert reports.publish(state="running") == ended == reports.report


def test_watchers_receive_only_changed_reports(tmp_path: Path) -> None:
    reports = ReportPublisher(tmp_path / "report.json", Report())
    following = reports.watch(heartbeat=0.01)
    assert next(following) == Report()
    assert next(following) is None
    reports.publish(state="starting")
    assert next(following) is None
    reports.publish(state="running")
    assert next(following) == Report(state="running")
    reports.publish(state="succeeded")
    assert list(following) == [Report(state="succeeded")]


def test_caller_can_wait_for_a_changed_report(tmp_path: Path) -> None:
    reports = ReportPublisher(tmp_path / "report.json", Report())
    assert not reports.wait_for(lambda report: report.state == "paused", 0.01)
    threading.Timer(0.02, reports.publish, kwargs={"state": "paused"}).start()
    assert reports.wait_for(lambda report: report.state == "paused", 240)


def test_report_that_cannot_be_written_is_still_published(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reports = ReportPublisher(tmp_path / "gone" / "report.json", Report())
    assert reports.publish(state="running") == reports.report == Report(state="running")
    assert [record.message.partition(":")[0] for record in caplog.records] == ["writing the report failed"] * 2
