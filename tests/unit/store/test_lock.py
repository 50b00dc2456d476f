"""The lock of a data directory: one process at a time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from virtshape.store.errors import LockedError
from virtshape.store.lock import Lock, find_holder


def test_second_lock_of_a_data_directory_fails_and_names_the_holder(tmp_path: Path) -> None:
    lock = Lock(tmp_path)
    with pytest.raises(LockedError, match=f"in use by process {os.getpid()}"):
        Lock(tmp_path)
    assert find_holder(tmp_path) == os.getpid()
    lock.close()
    assert find_holder(tmp_path) is None


def test_data_directory_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from virtshape.store.lock import Lock; Lock(Path(sys.argv[1])); sys.stdout.write('held\\n'); sys.stdout.flush(); sys.stdin.read()"  # noqa: E501 - one program
    process = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "held\n"
    assert find_holder(tmp_path) == process.pid
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert find_holder(tmp_path) is None


def test_missing_data_directory_has_no_lock_holder(tmp_path: Path) -> None:
    assert find_holder(tmp_path / "none") is None
