"""Facts that doctor collects about the machine."""

import os
import socket
import sys
from pathlib import Path

import pytest

from virtshape.launcher.node.account import Account
from virtshape.standalone.doctor.facts import check_kvm, gather_facts

CAPABLE = "processor : 0\nflags : fpu vmx\n"


def test_data_directory_is_inspected_before_and_after_its_creation(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "data"
    before = gather_facts(directory, "127.0.0.1", None, versions=False, probes=False)
    assert (before.directory_owner, before.directory_writable, before.server_pid) == (None, True, None)
    directory.mkdir(parents=True, mode=0o750)
    after = gather_facts(directory, "127.0.0.1", None, versions=False, probes=False)
    assert (after.directory_owner, after.directory_mode, after.directory_writable) == (os.geteuid(), 0o750, True)
    assert after.python == sys.version_info[:3]
    assert after.free_bytes > 0
    assert list(directory.iterdir()) == [], "nothing must be written"


def test_port_that_the_server_cannot_use_is_found(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert (
            gather_facts(tmp_path, "127.0.0.1", port, versions=False, probes=False).port_error
            == "Address already in use"
        )
    assert gather_facts(tmp_path, "127.0.0.1", 0, versions=False, probes=False).port_error == ""
    assert gather_facts(tmp_path, "nowhere.invalid", 1, versions=False, probes=False).port_error != ""


@pytest.mark.parametrize(
    ("cpuinfo", "mode", "user", "expected"),
    [
        ("flags : fpu\n", 0o666, 1000, "no CPU support"),
        (CAPABLE, None, 1000, "no device"),
        (CAPABLE, 0o600, os.geteuid() + 1, "denied"),
        (CAPABLE, 0o666, 1000, "works"),
    ],
)
def test_kvm_is_checked_for_the_user_that_runs_guests(
    tmp_path: Path, cpuinfo: str, mode: int | None, user: int, expected: str
) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    device = tmp_path / "kvm"
    if mode is not None:
        device.touch()
        device.chmod(mode)
    assert check_kvm(Account(user, user), device, tmp_path / "cpuinfo") == expected
