"""Whether a store can read and write its file; the cause if it cannot, and log lines when that changes."""

import contextlib
import logging
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from virtshape.store.errors import CompactedError, FutureError

MIN_FREE_BYTES: Final = 4 * 1024 * 1024
"""Minimum free disk space before a store counts as writable again; small writes may succeed on a full disk."""

_FULL: Final = "SQLITE_FULL"
_OF_DISK: Final = ("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
# SQLite reports a corrupt file also if the operating system cannot read it.
_CORRUPT: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB")

_log = logging.getLogger(__name__)


class DiskError(Exception):
    """A failed read or write of the database; `cause` is the error of the operating system, if it is known."""

    def __init__(self, error: Exception, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}" if cause else str(error))
        self.name = str(getattr(error, "sqlite_errorname", ""))


class StoreHealth:
    """The failure of recent reads and writes of one store, if any."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._write_failure = ""
        self._read_failure = ""
        self._failed_read: Callable[[], object] | None = None
        self._failing_since = 0.0
        self.written_at = time.monotonic()
        """Monotonic time of the last successful write."""

    @property
    def failure(self) -> str:
        """Why writes or reads currently fail; empty if they succeed."""
        return self._write_failure or self._read_failure

    def find_cause(self, error: Exception) -> DiskError:
        """Return the error with the operating system's reason, which a test write to the same directory finds."""
        is_of_disk = isinstance(error, sqlite3.Error) and DiskError(error).name.startswith(_OF_DISK)
        return DiskError(error, find_write_error(self._directory) if is_of_disk else "")

    def note_failure(self, error: DiskError) -> None:
        """Record a failed write."""
        if self._write_failure and self._write_failure.startswith(f"{error}"):
            return  # the recorded failure may have a cause in addition
        before, self._write_failure = self.failure, self._advise(error)
        self._log_change(before)

    def note_success(self) -> None:
        """Record a successful write; clear the failure if the disk has enough free space."""
        self.written_at = time.monotonic()
        if self._write_failure and self._measure_free_space() >= MIN_FREE_BYTES:
            before, self._write_failure = self.failure, ""
            self._log_change(before)

    def note_failed_read(self, error: DiskError, read: Callable[[], object]) -> None:
        """Record a failed read, and how to repeat it."""
        before, self._read_failure = self.failure, f"reading failed: {self._advise(error)}"
        self._failed_read = read
        self._log_change(before)

    def repeat_failed_read(self) -> None:
        """Repeat the read that failed, if any, and clear the failure if it succeeds; raise its error otherwise."""
        if self._failed_read is not None:
            with contextlib.suppress(CompactedError, FutureError):  # the file was read, but no longer has that revision
                self._failed_read()
            before, self._read_failure, self._failed_read = self.failure, "", None
            self._log_change(before)

    def _advise(self, error: DiskError) -> str:
        if error.name == _FULL:
            return f"{error}: free space in {self._directory}"
        if error.name.startswith(_OF_DISK):
            return f"{error}: check the file system of {self._directory}"
        if error.name.startswith(_CORRUPT):
            return f"{error}: check the file system of {self._directory}, and run `virtshape check`"
        return str(error)

    def _log_change(self, before: str) -> None:
        if self.failure and not before:
            self._failing_since = time.monotonic()
        if self.failure and self.failure != before:
            _log.error("the store is not available: %s; trying again every few seconds", self.failure)
        elif before and not self.failure:
            _log.warning("the store is available again after %.0f s", time.monotonic() - self._failing_since)

    def _measure_free_space(self) -> int:
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize


def find_write_error(directory: Path) -> str:
    """Write and sync a temporary file in the directory; return the operating system's error, or an empty string."""
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            file.write(bytes(1))
            os.fsync(file.fileno())
    except OSError as error:
        return error.strerror or str(error)
    return ""
