"""The main process of a pod: its readiness marker, signals, exit code and termination message."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.instances import build_vmi

from virtshape.api.launcherpod import TerminationMessage, parse_termination_message
from virtshape.launcher.host import Host
from virtshape.launcher.node.guests import Guests
from virtshape.launcher.pod.run import choose_cpus, finish, follow, mark
from virtshape.launcher.report import Report


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
    monkeypatch.setattr("virtshape.launcher.pod.run.mark", lambda _: None)
    following = asyncio.ensure_future(follow(cast("Guests", guests), build_vmi(**spec), Host()))
    if kill:
        while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
    return await asyncio.wait_for(following, 60)


async def test_main_process_of_a_pod_ends_with_its_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    last = Report(state="failed", reason="GuestPanicked")
    assert await run(FakeGuests(Report(state="running"), last), monkeypatch=monkeypatch) == last


async def test_sigterm_stops_the_guest_with_its_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    guests = FakeGuests(Report(state="running"))
    report = await run(guests, kill=True, monkeypatch=monkeypatch, terminationGracePeriodSeconds=7)
    assert (report.state, guests.stopped) == ("succeeded", [7.0])


async def test_sigterm_before_the_start_stops_the_guest_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def send_sigterm(_: object) -> dict[str, str]:
        os.kill(os.getpid(), signal.SIGTERM)
        return {}

    monkeypatch.setattr("virtshape.launcher.pod.run.find_mounts", send_sigterm)
    guests = FakeGuests(Report(state="running"))
    report = await run(guests, monkeypatch=monkeypatch, terminationGracePeriodSeconds=7)
    assert (report.state, guests.stopped) == ("succeeded", [7.0])


STATES = {
    "starting": (Report(), False),
    "running": (Report(state="running"), True),
    "unready": (Report(state="running", unready="no answer"), False),
    "paused": (Report(state="paused"), True),
    "ended": (Report(state="succeeded"), False),
}


@pytest.mark.parametrize(("report", "shown"), STATES.values(), ids=STATES.keys())
def test_marker_file_exists_while_the_guest_runs(report: Report, shown: bool, tmp_path: Path) -> None:
    path = tmp_path / "running"
    path.touch()
    mark(report, path)
    assert path.exists() == shown


ENDS = {
    "well": (Report(state="succeeded", reason="GuestShutDown", message="shut down"), 0),
    "badly": (Report(state="failed", reason="QemuKilled", message="killed"), 1),
}


@pytest.mark.parametrize(("report", "status"), ENDS.values(), ids=ENDS.keys())
def test_exit_code_and_termination_message_follow_the_report(report: Report, status: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    assert finish(report, path) == status
    assert parse_termination_message(path.read_text()) == TerminationMessage(report.reason, report.message)


def test_unwritable_termination_message_is_ignored(tmp_path: Path) -> None:
    assert finish(Report(state="succeeded"), tmp_path / "none" / "log") == 0


@pytest.mark.parametrize(("dedicated", "cpus"), [(True, (2, 3)), (False, ())], ids=["dedicated CPUs", "shared CPUs"])
def test_cpus_of_the_pod_are_assigned_to_a_guest_with_dedicated_cpus(dedicated: bool, cpus: tuple[int, ...]) -> None:
    vmi = build_vmi(domain={"cpu": {"dedicatedCpuPlacement": dedicated}})
    assert choose_cpus(vmi, Host(cpus=(2, 3))) == cpus
