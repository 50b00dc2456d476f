"""Log files of a guest stay bounded while another process appends to them."""

import subprocess
import time
from pathlib import Path

import pytest

from virtshape.launcher.guest.loglimit import NOTE, limit_log, limit_logs_forever

KIB = 1024


def test_only_the_end_of_a_log_above_the_limit_is_preserved(tmp_path: Path) -> None:
    log = tmp_path / "serial0.log"
    log.write_bytes(b"x" * 100 * KIB + b"the end")
    assert limit_log(log, most=64 * KIB, kept=7)
    assert log.read_bytes() == NOTE + b"the end"


def test_log_below_the_limit_is_unchanged(tmp_path: Path) -> None:
    log = tmp_path / "serial0.log"
    log.write_bytes(b"x" * 4 * KIB)
    assert not limit_log(log, most=64 * KIB)
    assert log.read_bytes() == b"x" * 4 * KIB


def test_missing_guest_log_is_ignored(tmp_path: Path) -> None:
    assert not limit_log(tmp_path / "serial0.log")


def test_symlink_in_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "other"
    target.write_bytes(b"x" * 100 * KIB)
    (tmp_path / "serial0.log").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        limit_log(tmp_path / "serial0.log", most=64 * KIB)
    assert target.stat().st_size == 100 * KIB


def test_log_of_a_process_that_writes_without_end_stays_bounded(tmp_path: Path) -> None:
    log = tmp_path / "serial0.log"
    limit_logs_forever([log], most=1024 * KIB, kept=KIB, seconds=0.01)
    with log.open("ab") as output, subprocess.Popen(["/usr/bin/yes"], stdout=output) as writer:
        try:
            written, shortened = 0, 0
            deadline = time.monotonic() + 240
            while shortened < 3:
                assert time.monotonic() < deadline, "the log was not shortened three times"
                size = log.stat().st_size
                shortened += size < written
                written = size
                time.sleep(0.005)
        finally:
            writer.kill()
    limit_log(log, most=1024 * KIB, kept=KIB)
    assert log.stat().st_size <= 1024 * KIB
