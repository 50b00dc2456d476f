"""Actions on guests and failed starts with real QEMU, without disks where possible."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import require_qemu, run_guests

from virtshape.api.model import JsonObject
from virtshape.launcher.controlprotocol import (
    Connect,
    Kill,
    Pause,
    QueryOs,
    Reset,
    SetMemory,
    SetVcpus,
    Status,
    Stop,
    Unpause,
)
from virtshape.launcher.node.gueststate import is_alive

MEBIBYTE = 1 << 20
MAX_RESIDENT_KIB = 45 * 1000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data directory for all tests, so that QEMU's capabilities are probed once."""
    require_qemu()
    return tmp_path_factory.mktemp("guests") / "data"


def read_status(pid: int | None, member: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{member}:"))


async def test_guest_is_paused_unpaused_reset_and_killed(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        started = harness.report(uid)
        assert (started.state, started.machine[:7], started.volumes) == ("running", "pc-q35-", ())
        assert [(one.name, one.addresses) for one in started.interfaces] == [("default", ("10.0.2.15",))]
        paused = (await harness.guests.ask(uid, Pause())).report
        assert paused is not None
        assert (paused.state, paused.reason) == ("paused", "PausedByUser")
        unpaused = (await harness.guests.ask(uid, Unpause())).report
        assert unpaused is not None
        assert (unpaused.state, unpaused.reason) == ("running", "")
        assert (await harness.guests.ask(uid, Reset())).error == ""
        killed = (await harness.guests.ask(uid, Kill())).report
        assert killed is not None
        assert (killed.state, killed.reason) == ("failed", "Killed")
        assert await harness.wait_for_end(uid) == killed
        assert (await harness.guests.ask(uid, Status())).error == "the guest is not running"


async def test_guest_with_paused_start_strategy_waits_to_be_unpaused(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start(startStrategy="Paused")
        assert (harness.report(uid).state, harness.report(uid).reason) == ("paused", "PausedByUser")
        await harness.guests.ask(uid, Unpause())
        await harness.wait(uid, lambda report: report.state == "running")


async def test_guest_is_killed_after_its_grace_period_and_on_removal(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        await harness.guests.stop(uid, grace=600)
        await harness.guests.stop(uid, grace=0.5)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason, ended.message) == (
            "failed",
            "GracePeriodExpired",
            "the guest did not shut down within 0.5 seconds and was killed",
        )
        other = await harness.start()
        running = harness.report(other)
        await harness.guests.remove(other)
        assert harness.guests.find(other) is None
        pids = (running.launcher_pid, running.qemu_pid)
        assert not any(is_alive(pid, harness.places.get_layout(other)) for pid in pids)
        assert harness.places.list_guests() == [uid]


@pytest.mark.parametrize(
    ("number", "message", "code"),
    [
        pytest.param(signal.SIGKILL, "QEMU was killed by SIGKILL", -9, id="killed"),
        pytest.param(signal.SIGTERM, "QEMU was terminated by another program", 0, id="terminated"),
    ],
)
async def test_guest_fails_when_qemu_is_terminated(data: Path, number: signal.Signals, message: str, code: int) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        os.kill(harness.report(uid).qemu_pid or 0, number)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason, ended.message) == ("failed", "QemuKilled", message)
        assert ended.exit_code == code


async def test_guest_can_be_stopped_before_it_has_started(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.request_start()
        await harness.guests.stop(uid, grace=0)
        # On a busy machine, the launcher process may start too late for this request, which callers repeat.
        while not harness.report(uid).final and (await harness.guests.ask(uid, Stop(grace=0))).error:
            await asyncio.sleep(0.1)
        ended = await harness.wait_for_end(uid)
        assert (ended.state, ended.reason) == ("failed", "Killed")


@pytest.mark.parametrize(
    ("domain", "spec", "reason", "fields"),
    [
        pytest.param(
            {"cpu": {"cores": 4096, "dedicatedCpuPlacement": True}},
            {},
            "NotPossibleHere",
            {"spec.domain.cpu.dedicatedCpuPlacement"},
            id="more CPUs than the host has",
        ),
        pytest.param(
            {"devices": {"disks": [{"name": "root", "disk": {}}]}},
            {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "nothing"}}]},
            "VolumesNotReady",
            {"spec.volumes[0].persistentVolumeClaim"},
            id="missing volume",
        ),
    ],
)
async def test_unsupported_guest_is_refused_with_the_unsupported_fields(
    data: Path, domain: JsonObject, spec: JsonObject, reason: str, fields: set[str]
) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start(domain, **spec)
        report = harness.report(uid)
        assert (report.state, report.reason, report.qemu_pid) == ("failed", reason, None)
        assert fields <= {refusal.field for refusal in report.refusals}
        assert all(f"{refusal.field}: {refusal.reason}" in report.message for refusal in report.refusals)


async def test_qemu_start_error_is_reported(data: Path) -> None:
    claim = data / "claim"
    claim.mkdir(exist_ok=True)
    with (claim / "disk.img").open("wb") as image:
        image.truncate(MEBIBYTE)
    disk: dict[str, Any] = {
        "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
        "mounts": {"root": str(claim)},
        "volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "claim"}}],
    }
    async with run_guests(data) as harness:
        first = harness.report(await harness.start(**disk))
        assert (first.state, [(one.name, one.target, one.size) for one in first.volumes]) == (
            "running",
            [("root", "vda", MEBIBYTE)],
        )
        second = harness.report(await harness.start(**disk))
        assert (second.state, second.reason) == ("failed", "NotStarted")
        assert second.message.startswith('QEMU did not start: Failed to get "write" lock; Is another process using')


async def test_failed_guest_request_returns_an_error_message(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        ask = harness.guests.ask
        assert "agent" in (await ask(uid, QueryOs())).error
        assert (await ask(uid, SetMemory(size=MEBIBYTE))).error == (
            "the guest was started without memory hotplug: restart the VM"
        )
        assert "vcpus" in (await ask(uid, SetVcpus(count=64))).error
        with pytest.raises(ConnectionError, match="interface other does not have user-mode networking"):
            await harness.guests.connect(uid, Connect(port=80, interface="other"))
        connections = [await harness.guests.connect(uid, Connect(port=80)) for _ in range(2)]
        first, second = [connection.getpeername() for connection in connections]
        assert first == second
        for connection in connections:
            connection.close()
        assert (await ask("another", Status())).error == "the guest is not running"


async def test_cpus_and_memory_can_be_hotplugged(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start(
            {
                "cpu": {"sockets": 1, "maxSockets": 4},
                "memory": {"guest": "1Gi", "maxGuest": "2Gi"},
            }
        )
        for memory in (1536, 1536, 2048):  # a controller that was restarted asks again
            assert (await harness.guests.ask(uid, SetVcpus(count=3))).error == ""
            assert (await harness.guests.ask(uid, SetMemory(size=memory * MEBIBYTE))).error == ""
        assert (await harness.guests.ask(uid, SetMemory(size=4096 * MEBIBYTE))).error == (
            "the guest can have between 1024 and 2048 MiB of memory"
        )


async def test_launcher_process_is_small_unprivileged_and_in_its_own_session(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = await harness.start()
        report = harness.report(uid)
        assert int(read_status(report.launcher_pid, "VmRSS").split()[0]) <= MAX_RESIDENT_KIB
        assert os.getsid(report.launcher_pid or 0) == report.launcher_pid
        for pid in (report.launcher_pid, report.qemu_pid):
            assert "0" not in read_status(pid, "Uid").split()
            assert int(read_status(pid, "CapEff"), 16) == 0
            assert read_status(pid, "NoNewPrivs") == ("1" if os.geteuid() == 0 else "0") or pid == report.qemu_pid
