"""The main process of a pod: its readiness marker, signals, exit code and termination message."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from tests.support.instances import build_vmi

from virtshape.api.launcherpod import TerminationMessage, parse_termination_message
from virtshape.launcher.host import Host
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.pod.run import choose_cpus, finish, follow, mark, write_report
from virtshape.launcher.report import Refusal, Report
from virtshape.launcher.volumes.task import VolumeError


class FakeGuests:
    """Guests that publish the given reports when started, and shut down when stopped."""

    def __init__(self, *reports: Report) -> None:
        self._reports = reports
        self._is_started = False
        self.stopped: list[float] = []

    def observe(self, observer: Any) -> None:
        self._tell = observer

    async def start(self, uid: str, vmi: object, mounts: object, **more: object) -> None:
        del vmi, mounts, more
        self._is_started = True
        for report in self._reports:
            self._tell(uid, report)

    async def stop(self, uid: str, grace: float) -> None:
        if not self._is_started:
            return
        self.stopped.append(grace)
        self._tell(uid, Report(state="succeeded", reason="GuestShutDown"))

    async def close(self) -> None:
        pass


async def run(guests: FakeGuests, *, kill: bool = False, monkeypatch: pytest.MonkeyPatch, **spec: Any) -> Report:
    for writer in ("mark", "write_report"):
        monkeypatch.setattr(f"virtshape.launcher.pod.run.{writer}", lambda _: None)
    following = asyncio.ensure_future(follow(cast("Guests", guests), build_vmi(**spec), Host()))
    if kill:
        while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
    return await asyncio.wait_for(following, 240)


async def test_main_process_of_a_pod_exits_when_its_guest_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    last = Report(state="failed", reason="GuestPanicked")
    assert await run(FakeGuests(Report(state="running"), last), monkeypatch=monkeypatch) == last


async def test_sigterm_stops_the_guest_with_its_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    guests = FakeGuests(Report(state="running"))
    report = await run(guests, kill=True, monkeypatch=monkeypatch, terminationGracePeriodSeconds=7)
    assert (report.state, guests.stopped) == ("succeeded", [7.0])


async def test_early_sigterm_stops_the_guest_after_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def send_sigterm(*_: object) -> dict[str, str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return {}

    monkeypatch.setattr("virtshape.launcher.pod.run.find_mounts", send_sigterm)
    guests = FakeGuests(Report(state="running"))
    report = await run(guests, monkeypatch=monkeypatch, terminationGracePeriodSeconds=7)
    assert (report.state, guests.stopped) == ("succeeded", [7.0])


async def test_main_process_of_a_pod_with_unusable_volumes_reports_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> dict[str, str]:
        raise VolumeError([Refusal("spec.volumes[0]", "no permission")])

    monkeypatch.setattr("virtshape.launcher.pod.run.find_mounts", refuse)
    report = await run(FakeGuests(Report(state="running")), monkeypatch=monkeypatch)
    assert (report.state, report.reason, report.message) == (
        *("failed", "VolumesNotReady"),
        "spec.volumes[0]: no permission",
    )


STATES = {
    "starting": (Report(), set()),
    "running": (Report(state="running"), {"started", "running"}),
    "unready": (Report(state="running", unready="no answer"), {"started"}),
    "paused": (Report(state="paused"), {"started", "running"}),
    "ended": (Report(state="succeeded"), set()),
}


@pytest.mark.parametrize("existing", [set(), {"started", "running"}], ids=["without files", "with old files"])
@pytest.mark.parametrize(("report", "files"), STATES.values(), ids=STATES.keys())
def test_marker_files_exist_while_the_guest_runs_and_is_ready(
    report: Report, files: set[str], existing: set[str], tmp_path: Path
) -> None:
    for name in existing:
        (tmp_path / name).touch()
    mark(report, tmp_path / "started", tmp_path / "running")
    assert {path.name for path in tmp_path.iterdir()} == files


def test_report_file_contains_the_latest_report(tmp_path: Path) -> None:
    report = Report(state="running", machine="pc-q35-7.2", agent=True)
    write_report(Report(), tmp_path / "report.json")
    write_report(report, tmp_path / "report.json")
    assert msgspec.json.decode((tmp_path / "report.json").read_bytes(), type=Report) == report


ENDS = {
    "well": (Report(state="succeeded", reason="GuestShutDown", message="shut down"), 0),
    "badly": (Report(state="failed", reason="QemuKilled", message="killed"), 1),
}


@pytest.mark.parametrize(("report", "status"), ENDS.values(), ids=ENDS.keys())
def test_exit_code_and_termination_message_depend_on_the_report(report: Report, status: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert finish(report, path) == status
    assert parse_termination_message(path.read_text()) == TerminationMessage(report.reason, report.message)


def test_unwritable_termination_message_is_ignored(tmp_path: Path) -> None:
    assert finish(Report(state="succeeded"), tmp_path / "none" / "log") == 0


@pytest.mark.parametrize(("dedicated", "cpus"), [(True, (2, 3)), (False, ())], ids=["dedicated CPUs", "shared CPUs"])
def test_cpus_of_the_pod_are_assigned_only_to_a_guest_with_dedicated_cpus(
    dedicated: bool, cpus: tuple[int, ...]
) -> None:
    vmi = build_vmi(domain={"cpu": {"dedicatedCpuPlacement": dedicated}})
    assert choose_cpus(vmi, Host(cpus=(2, 3))) == cpus
