"""Guests of a server that runs as root: each has its own user and cannot read files of others."""

import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.guests import build_guest, require_qemu, run_guests

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run guests as separate users")
PHRASE = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """A data directory whose parents are accessible to all users, so that only the modes of guest files deny access."""
    require_qemu()
    with tempfile.TemporaryDirectory(prefix="users-") as name:
        Path(name).chmod(0o755)
        yield Path(name) / "data"


def read_as(user: int, path: Path) -> "subprocess.CompletedProcess[bytes]":
    """Read a file as a user without capabilities."""
    identity = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
    return subprocess.run(["setpriv", *identity, "cat", path], capture_output=True, check=False)  # noqa: S607


def open_to_all(data: Path) -> None:
    """Make the parent directories of guests accessible to all users, so that only file modes deny access."""
    for directory in (data, data / "guests"):
        directory.chmod(0o755)


async def test_user_of_one_guest_cannot_read_files_of_another(data: Path) -> None:
    async with run_guests(data) as harness:
        mounted = data / "claim"
        mounted.mkdir(parents=True, exist_ok=True)
        (mounted / "disk.img").write_bytes(bytes(1 << 20))
        claim = [{"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}}]
        disks = {"devices": {"disks": [{"name": "claim", "disk": {"bus": "virtio"}}]}}
        one = await harness.start(disks, mounts={"claim": str(mounted)}, volumes=claim)
        two = await harness.start()
        assert {harness.report(uid).state for uid in (one, two)} == {"running"}, harness.report(two)
        open_to_all(data)
        users = [harness.places.get_account(uid).user for uid in (one, two)]
        owners = [Path(f"/proc/{harness.report(uid).qemu_pid}").stat().st_uid for uid in (one, two)]
        assert users == owners
        assert len({*users, 0}) == 3
        files = [path for path in (data / "guests" / one).rglob("*") if path.is_file()]
        assert len(files) > 5
        for path in (*files, mounted / "disk.img"):
            assert read_as(users[1], path).returncode != 0, path
        own = (data / "guests" / one / "plan.json", mounted / "disk.img")
        assert [read_as(users[0], path).returncode for path in own] == [0, 0]
        await harness.guests.remove(one)
        assert (mounted / "disk.img").stat().st_uid == 0


async def test_ignition_data_is_in_a_private_file_and_on_no_command_line(data: Path) -> None:
    async with run_guests(data) as harness:
        uid = "b7f1a0de-0000-4000-8000-00000000000a"
        vmi = build_guest(uid)
        vmi.metadata.annotations = {"kubevirt.io/ignitiondata": f'{{"ignition": {{}}, "secret": "{PHRASE}"}}'}
        await harness.guests.start(uid, vmi, {})
        report = await harness.wait(uid, lambda report: report.state != "starting")
        assert report.state == "running", report
        line = Path(f"/proc/{report.qemu_pid}/cmdline").read_bytes()
        assert b"opt/com.coreos/config" in line
        assert PHRASE.encode() not in line
        file = harness.places.get_layout(uid).directory / "ignition.json"
        assert PHRASE in file.read_text()
        found = file.stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (harness.places.get_account(uid).user, 0o600)
