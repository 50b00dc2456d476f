"""Guests survive their supervisor, and are adopted after it was killed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.guests import TIMEOUT, adopt_guests, require_qemu, run_guests

from virtshape.launcher.controlprotocol import Pause, Unpause
from virtshape.launcher.node.gueststate import find_report, is_alive
from virtshape.launcher.report import Report


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_qemu()
    return tmp_path_factory.mktemp("adoption") / "data"


def start_and_kill_supervisor(data: Path) -> str:
    """Start a guest from another process, kill that process and return the guest's uid."""
    command = [sys.executable, "-m", "tests.support.supervisor", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        assert process.stdout is not None
        uid = process.stdout.readline().strip()
        process.kill()
        process.wait(TIMEOUT)
    return uid


def kill(pid: int | None) -> int:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def kill_launcher(report: Report) -> list[int]:
    return [kill(report.launcher_pid)]


def kill_qemu(report: Report) -> list[int]:
    return [kill(report.qemu_pid)]


def kill_both(report: Report) -> list[int]:
    return kill_launcher(report) + kill_qemu(report)


@pytest.mark.parametrize(
    ("meanwhile", "state", "reason"),
    [
        pytest.param(lambda _: [], "running", "", id="nothing else is killed"),
        pytest.param(kill_launcher, "running", "", id="the launcher process is killed"),
        pytest.param(kill_qemu, "failed", "QemuKilled", id="QEMU is killed"),
        pytest.param(kill_both, "failed", "LauncherLost", id="both are killed"),
    ],
)
async def test_new_supervisor_finds_the_state_of_a_guest_after_the_old_one_was_killed(
    data: Path, meanwhile: Callable[[Report], list[int]], state: str, reason: str
) -> None:
    async with run_guests(data) as harness:
        uid = await asyncio.to_thread(start_and_kill_supervisor, data)
        layout = harness.places.get_layout(uid)
        before = find_report(layout)
        assert before is not None
        assert before.state == "running"
        killed = meanwhile(before)
        async with asyncio.timeout(TIMEOUT):
            while any(is_alive(pid, layout) for pid in killed):  # a killed QEMU may take long to end
                await asyncio.sleep(0.01)
        found = await adopt_guests(data)
        await found.wait(uid, lambda report: (report.state, report.reason) == (state, reason))
        if state == "running":
            await found.wait(uid, lambda report: report.launcher_pid not in killed)
            paused = await found.guests.ask(uid, Pause())
            assert (paused.error, found.report(uid).qemu_pid) == ("", before.qemu_pid)
        await found.guests.remove(uid)
        await found.guests.close()


async def test_new_launcher_process_adopts_the_guest_of_a_killed_one(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        before = harness.report(uid)
        kill_launcher(before)
        after = await harness.wait(uid, lambda report: report.launcher_pid != before.launcher_pid)
        assert after.qemu_pid == before.qemu_pid
        assert re.search(r"guest [a-z]+/[a-z0-9-]+: launcher process was lost; starting another one", caplog.text)
        for request, state in ((Pause(), "paused"), (Unpause(), "running")):
            answer = await harness.guests.ask(uid, request)
            assert answer.report is not None
            assert (answer.error, answer.report.state) == ("", state)
        kill_qemu(before)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason, ended.exit_code) == ("failed", "QemuFailed", None)


async def test_directory_of_a_guest_that_was_never_started_is_removed(data: Path) -> None:
    async with run_guests(data) as harness:
        harness.places.make("about-to-start")
        found = await adopt_guests(data)
        assert found.guests.find("about-to-start") is None
        assert found.places.list_guests() == []
        await found.guests.close()
