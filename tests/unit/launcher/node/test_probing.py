"""Probes of QEMU through libvirt that fail or do not end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtshape.launcher.node import probing
from virtshape.launcher.node.account import choose_account
from virtshape.launcher.node.directories import GuestDirectories
from virtshape.launcher.node.probing import ProbeError, probe_host


@pytest.fixture
def directories(tmp_path: Path) -> GuestDirectories:
    return GuestDirectories(tmp_path, choose_account())


def start_instead(monkeypatch: pytest.MonkeyPatch, program: str) -> list[int]:
    """Run this Python program instead of libvirt's query, and return the list of its process ids."""
    pids: list[int] = []

    def spawn(module: str, directory: Path, log: Path, confinement: object) -> int:
        del module, directory, confinement
        with log.open("wb") as output:
            process = subprocess.Popen([sys.executable, "-c", program], stderr=output)
        process.returncode = 0  # the code under test waits for the process
        pids.append(process.pid)
        return process.pid

    monkeypatch.setattr(probing, "spawn", spawn)
    return pids


async def test_probe_that_hangs_is_killed_and_reported(
    directories: GuestDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "TIMEOUT_SECONDS", 0.2)
    pids = start_instead(monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(ProbeError, match=r"^probing QEMU failed: libvirt did not respond within 0.2 seconds; see /"):
        await probe_host(directories)
    (pid,) = pids
    with pytest.raises(ChildProcessError):  # not even a zombie is left
        os.waitpid(pid, os.WNOHANG)


async def test_probe_that_fails_is_reported_with_its_last_line(
    directories: GuestDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_instead(monkeypatch, "raise SystemExit('libvirt cannot be loaded')")
    with pytest.raises(ProbeError, match=r"^probing QEMU failed: libvirt cannot be loaded; see /"):
        await probe_host(directories)
