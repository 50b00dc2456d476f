"""The health of a store: causes, advice, and log lines when it changes."""

import sqlite3
from pathlib import Path

import pytest

from virtshape.store.errors import CompactedError
from virtshape.store.health import DiskError, StoreHealth, find_write_error


def build_error(name: str, message: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorname = name
    return error


@pytest.fixture
def health(tmp_path: Path) -> StoreHealth:
    return StoreHealth(tmp_path)


@pytest.mark.parametrize(
    ("name", "message", "advice"),
    [
        ("SQLITE_FULL", "database or disk is full", ": free space in {}"),
        ("SQLITE_IOERR_WRITE", "disk I/O error", ": check the file system of {}"),
        ("SQLITE_CORRUPT", "malformed", ": check the file system of {}, and run `virtshape check`"),
        ("SQLITE_BUSY", "database is locked", ""),
    ],
)
def test_failure_has_advice_for_its_cause(
    health: StoreHealth, tmp_path: Path, name: str, message: str, advice: str
) -> None:
    health.note_failure(DiskError(build_error(name, message)))
    assert health.failure == message + advice.format(tmp_path)
    health.note_success()
    assert health.failure == ""


def test_known_cause_is_kept_when_the_same_failure_is_reported_without_it(health: StoreHealth) -> None:
    error = build_error("SQLITE_IOERR_WRITE", "disk I/O error")
    health.note_failure(DiskError(error, "Read-only file system"))
    health.note_failure(DiskError(error))
    assert health.failure.startswith("disk I/O error: Read-only file system: check")


def test_failure_and_recovery_are_logged_once(health: StoreHealth, caplog: pytest.LogCaptureFixture) -> None:
    error = DiskError(build_error("SQLITE_FULL", "database or disk is full"))
    for _ in range(3):
        health.note_failure(error)
    for _ in range(3):
        health.note_success()
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]


def test_read_failure_lasts_until_the_same_read_succeeds(health: StoreHealth) -> None:
    error = build_error("SQLITE_CORRUPT", "malformed")
    attempts = 0

    def read() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise error

    health.note_failed_read(DiskError(error), read)
    health.note_success()
    assert health.failure.startswith("reading failed: malformed")
    with pytest.raises(sqlite3.OperationalError):
        health.repeat_failed_read()
    assert health.failure
    health.repeat_failed_read()
    assert health.failure == ""


def test_read_failure_ends_when_its_revision_is_compacted(health: StoreHealth) -> None:
    def read() -> None:
        raise CompactedError(1, 2)

    health.note_failed_read(DiskError(build_error("SQLITE_IOERR_READ", "disk I/O error")), read)
    health.repeat_failed_read()
    assert health.failure == ""


def test_cause_is_the_error_of_the_operating_system(tmp_path: Path) -> None:
    assert find_write_error(tmp_path) == ""
    assert find_write_error(tmp_path / "missing") == "No such file or directory"
    found = StoreHealth(tmp_path / "missing").find_cause(build_error("SQLITE_IOERR_FSYNC", "disk I/O error"))
    assert str(found) == "disk I/O error: No such file or directory"
