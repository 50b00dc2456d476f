"""
Faults of QEMU, of launcher processes and of the server: what VMs report, how they recover, and what is left over.

Each test compares the processes, network devices, sockets and files of the machine before and after.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.demoguests import KUBEVIRT, Guests, build_small_guest, eventually
from tests.support.guests import require_qemu
from tests.support.leftovers import Machine
from tests.support.longruns import choose
from tests.support.upprocess import System, wait_until

from virtshape.api.model import JsonObject

ROUNDS = choose(short=1, long=10)
PATIENCE = 300.0
ATTEMPTS = 10
"""How often to try to send a signal while a guest starts; on a busy machine, the guest may have started before."""
ARGUMENTS = ("--launcher", "qemu", "--no-catalog")


class FaultyGuests(Guests):
    """The VMs of one server, which tests may stop and start again."""

    def __init__(self, directory: Path) -> None:
        super().__init__(System(directory, *ARGUMENTS))
        self.machine = Machine(self.system)

    def restart_server(self, number: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Stop the server with a signal, call a function, and start the server again."""
        self.system.stop(number)
        meanwhile()
        self.system = self.machine.system = System(self.system.directory, *ARGUMENTS)

    def start(self, *trees: JsonObject) -> dict[str, str]:
        """Create VMs, wait until they run, and return the uids of their instances."""
        self.create(*trees)
        names = [tree["metadata"]["name"] for tree in trees]
        return {name: self.wait_for_phase(name, "Running")["metadata"]["uid"] for name in names}

    def read_report(self, uid: str) -> JsonObject:
        """Return the last report of the guest of an instance."""
        report: JsonObject = json.loads((self.system.directory / "guests" / uid / "report.json").read_text())
        return report

    def find_qemu(self, name: str) -> int | None:
        """Return the process id of the QEMU of a VM, as soon as the process exists."""
        wanted = f"guest=default_{name},"
        found = (
            one for one in self.machine.list_processes() if one.name.startswith("qemu") and wanted in one.arguments
        )
        return next((one.pid for one in found), None)

    def wait_for_ready(self, name: str, status: str, reason: str = "") -> str:
        """Wait until the condition Ready of an instance has this status and reason, and return its message."""

        def find_message() -> str | None:
            ready = self.conditions(name).get("Ready", {})
            is_found = (ready.get("status"), ready.get("reason", "")) == (status, reason)
            return ready.get("message", "") if is_found else None

        return eventually(find_message, lambda: str(self.conditions(name)), PATIENCE)


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyGuests]:
    """The server of this module."""
    require_qemu()
    running = FaultyGuests(tmp_path_factory.mktemp("faults") / "data")
    try:
        running.start(build_small_guest("first"))  # creates the directories and files that every server has
        running.delete("first")
        yield running
    finally:
        running.delete_all()
        running.system.stop()
    wait_until(lambda: not running.machine.list_processes(), "processes have outlived their VMs and their server")


@pytest.fixture(autouse=True)
def _nothing_is_left_over(guests: FaultyGuests) -> Iterator[None]:
    before = guests.machine.read_settled()
    yield
    guests.delete_all()
    guests.machine.wait_until_unchanged(before)
    assert "Traceback" not in guests.system.log.read_text()


def test_guest_whose_qemu_is_killed_restarts_if_its_run_strategy_says_so(guests: FaultyGuests) -> None:
    strategies = {"always": "Always", "rerun": "RerunOnFailure", "once": "Once", "manual": "Manual"}
    guests.create(*(build_small_guest(name, strategy) for name, strategy in strategies.items()))
    guests.act("virtualmachines", "manual", "start")
    uids = {name: guests.wait_for_phase(name, "Running")["metadata"]["uid"] for name in strategies}
    for _ in range(ROUNDS):
        for name in ("always", "rerun"):
            os.kill(guests.read_report(uids[name])["qemu_pid"], signal.SIGKILL)
        for name in ("always", "rerun"):
            uids[name] = guests.wait_for_phase(name, "Running", other_than=uids[name])["metadata"]["uid"]
            guests.wait_for_event_text(name, "QEMU was killed by SIGKILL")
    for name in ("once", "manual"):
        os.kill(guests.read_report(uids[name])["qemu_pid"], signal.SIGKILL)
    for name in ("once", "manual"):
        guests.wait_for_event_text(name, "QEMU was killed by SIGKILL")
        guests.wait_for_phase(name, "Failed")
        assert guests.conditions(name)["Ready"]["reason"] == "QemuKilled"
    time.sleep(2.0)  # a controller that restarts these guests would have done so
    assert [guests.wait_for_phase(name, "Failed")["metadata"]["uid"] for name in ("once", "manual")] == [
        uids["once"],
        uids["manual"],
    ]


def test_stopped_qemu_is_reported_until_it_continues(guests: FaultyGuests) -> None:
    guests.create(build_small_guest("frozen", grace=1))
    uid = guests.wait_for_phase("frozen", "Running")["metadata"]["uid"]
    pid = guests.read_report(uid)["qemu_pid"]
    for _ in range(ROUNDS):
        os.kill(pid, signal.SIGSTOP)
        guests.wait_for_ready("frozen", "False", "GuestNotResponding")
        wait_until(
            lambda: f"process {pid} continues after SIGCONT" in guests.conditions("frozen")["Ready"]["message"],
            lambda: str(guests.conditions("frozen")),
        )
        guests.wait_for_event_text("frozen", "QEMU is stopped by a signal")
        os.kill(pid, signal.SIGCONT)
        guests.wait_for_ready("frozen", "True")
        guests.wait_for_event_text("frozen", "the guest responds again")
    assert guests.wait_for_phase("frozen", "Running")["metadata"]["uid"] == uid


def test_stopped_launcher_process_is_reported_until_it_continues(guests: FaultyGuests) -> None:
    guests.create(build_small_guest("stopped", grace=1))
    uid = guests.wait_for_phase("stopped", "Running")["metadata"]["uid"]
    pid = guests.read_report(uid)["launcher_pid"]
    os.kill(pid, signal.SIGSTOP)
    expected = f"the guest's launcher process is stopped by a signal: process {pid} continues after SIGCONT"
    wait_until(  # before, the message may be that of a slow start
        lambda: guests.wait_for_ready("stopped", "False", "GuestNotResponding") == expected,
        lambda: str(guests.conditions("stopped")),
        PATIENCE,
    )
    os.kill(pid, signal.SIGCONT)
    guests.wait_for_ready("stopped", "True")
    guests.wait_for_event_text("stopped", "the guest responds again")
    assert guests.wait_for_phase("stopped", "Running")["metadata"]["uid"] == uid


def test_guest_that_does_not_respond_can_be_deleted(guests: FaultyGuests) -> None:
    """QEMU is stopped while it runs and while it starts, and a launcher process is stopped."""
    uids = guests.start(build_small_guest("frozen", grace=1), build_small_guest("unled", devices={"tpm": {}}))
    os.kill(guests.read_report(uids["frozen"])["qemu_pid"], signal.SIGSTOP)
    os.kill(guests.read_report(uids["unled"])["launcher_pid"], signal.SIGSTOP)
    assert any(stops_while_starting(guests, "hung") for _ in range(ATTEMPTS)), "QEMU always starts too fast"
    assert (guests.vmi("hung") or {})["status"]["phase"] == "Scheduled"
    began = time.monotonic()
    for name in ("frozen", "unled", "hung"):
        assert guests.system.request("DELETE", f"{KUBEVIRT}/virtualmachines/{name}")[0] == 200
    for name in ("frozen", "unled", "hung"):
        guests.wait_until_gone(name)
    assert time.monotonic() - began < PATIENCE


def stops_while_starting(guests: FaultyGuests, name: str) -> bool:
    """Create a VM and stop its QEMU; return True if QEMU was starting, and delete the VM if it had started."""
    guests.create(build_small_guest(name))
    pid = eventually(lambda: guests.find_qemu(name), lambda: "QEMU was not started", PATIENCE, pause=0.005)
    os.kill(pid, signal.SIGSTOP)

    def is_starting() -> bool | None:
        if (guests.vmi(name) or {}).get("status", {}).get("phase") == "Running":
            return False
        message = guests.conditions(name).get("Ready", {}).get("message", "")
        return True if "QEMU has not finished its start" in message else None

    found = eventually(is_starting, lambda: str(guests.conditions(name)), PATIENCE)
    if not found:
        guests.delete(name)
    return found


def test_guests_keep_running_while_their_server_restarts(guests: FaultyGuests) -> None:
    uids = guests.start(build_small_guest("kept"), build_small_guest("killed"), build_small_guest("taken"))
    before = {name: guests.read_report(uid) for name, uid in uids.items()}
    guests.wait_for_event_text("kept", "VirtualMachineInstance started.")  # a killed server loses events in its queue

    def kill() -> None:
        os.kill(before["killed"]["qemu_pid"], signal.SIGKILL)
        os.kill(before["taken"]["launcher_pid"], signal.SIGKILL)

    guests.restart_server(signal.SIGKILL, kill)
    guests.wait_for_phase("killed", "Running", other_than=uids["killed"])
    guests.wait_for_event_text("killed", "QEMU was killed by SIGKILL")
    wait_until(
        lambda: guests.read_report(uids["taken"])["launcher_pid"] != before["taken"]["launcher_pid"],
        "no launcher process has taken over the guest",
        PATIENCE,
    )
    for _ in range(ROUNDS):
        guests.restart_server(signal.SIGTERM)
        guests.wait_for_phase("kept", "Running")
        guests.restart_server(signal.SIGKILL)
        for name in ("kept", "taken"):
            assert guests.wait_for_phase(name, "Running")["metadata"]["uid"] == uids[name]
            assert guests.read_report(uids[name])["qemu_pid"] == before[name]["qemu_pid"]
            guests.wait_for_ready(name, "True")
    starts = [event for event in guests.list_events("kept") if event["reason"] == "Started"]
    assert [event.get("count") for event in starts] == [1]


def test_guest_whose_launcher_process_is_killed_while_it_starts_is_started_again(guests: FaultyGuests) -> None:
    assert any(restarts_after_kill(guests, "early") for _ in range(ATTEMPTS)), "the guest always starts too fast"
    guests.wait_for_event_text("early", "the guest's launcher process has ended")


def restarts_after_kill(guests: FaultyGuests, name: str) -> bool:
    """
    Create a VM, kill its launcher process while the guest starts, and wait until another instance runs.

    Delete the VM and return False if the guest has started before: another launcher process takes it over.
    """
    guests.create(build_small_guest(name))
    vmi = eventually(lambda: guests.vmi(name), lambda: "the VM has no instance", PATIENCE, pause=0.005)
    uid = vmi["metadata"]["uid"]
    path = guests.system.directory / "guests" / uid / "report.json"
    eventually(lambda: path.exists() or None, lambda: "there is no launcher process", PATIENCE, pause=0.005)
    os.kill(guests.read_report(uid)["launcher_pid"], signal.SIGKILL)
    with contextlib.suppress(FileNotFoundError):  # the server has removed the first instance
        if guests.read_report(uid).get("state") == "running":
            guests.delete(name)
            return False
    guests.wait_for_phase(name, "Running", other_than=uid)
    return True


class Disk(NamedTuple):
    """A disk of a VM that prevents its start, and how the VM reports it."""

    volume: JsonObject
    status: str
    """The printable status of the VM."""
    message: str
    """A part of the message of an event."""


def test_missing_corrupt_and_locked_images_are_reported_until_they_are_repaired(
    guests: FaultyGuests, tmp_path: Path
) -> None:
    missing, corrupt, locked = (tmp_path / f"{name}.img" for name in ("missing", "corrupt", "locked"))
    tmp_path.chmod(0o755)
    for path in (corrupt, locked):
        create_image(path)
    content = bytearray(corrupt.read_bytes())
    content[20:24] = (99).to_bytes(4, "big")  # the cluster size, which has no such value
    corrupt.write_bytes(content)
    images = {"local/missing:1": str(missing), "local/corrupt:1": str(corrupt)}
    settings = guests.system.directory / "config.yaml"
    settings.write_text(json.dumps({"images": images, "hostDisks": {"roots": [str(tmp_path)]}}))
    disks = {
        "missing": Disk({"containerDisk": {"image": "local/missing:1"}}, "ImagePullBackOff", "missing.img"),
        "corrupt": Disk({"containerDisk": {"image": "local/corrupt:1"}}, "ImagePullBackOff", "corrupt.img"),
        "locked": Disk({"hostDisk": {"path": str(locked), "type": "Disk"}}, "CrashLoopBackOff", "lock"),
    }
    with hold_lock(locked):
        guests.create(
            *(build_small_guest(name, volumes=[{"name": "root", **disk.volume}]) for name, disk in disks.items())
        )
        for name, disk in disks.items():
            guests.wait_for_status(name, disk.status)
            guests.wait_for_event_text(name, disk.message)
    for path in (missing, corrupt):
        create_image(path)
    for name in disks:
        guests.wait_for_phase(name, "Running")
    guests.delete(*disks)
    settings.unlink()


def create_image(path: Path) -> None:
    run_qemu_img("create", "-q", "-f", "raw" if path.stem == "locked" else "qcow2", str(path), "1M")


def run_qemu_img(*arguments: str) -> int:
    """Run qemu-img and return its exit status."""
    command = [shutil.which("qemu-img") or "qemu-img", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE).returncode


@contextlib.contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Lock an image, as another QEMU that writes to it does."""
    drive = f"file={path},format=raw,if=none,id=disk"
    machine = ("-nodefaults", "-display", "none", "-machine", "q35", "-m", "16", "-S")
    program = shutil.which("qemu-system-x86_64") or "qemu-system-x86_64"
    with subprocess.Popen([program, *machine, "-drive", drive, "-device", "virtio-blk,drive=disk"]) as process:
        try:
            wait_until(
                lambda: run_qemu_img("resize", "-q", "-f", "raw", str(path), "1M") != 0,
                "the image is not locked",
                PATIENCE,
            )
            yield
        finally:
            process.kill()
