"""Health of a store: the outcome of the last writes, and free disk space."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

MIN_FREE_BYTES: Final = 4 * 1024 * 1024
"""Bytes that must be free before a store counts as writable again; small writes may succeed on a full disk."""


class WriteHealth:
    """The outcome of the last writes to a store."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.failure = ""
        """Why writes fail; empty if they succeed."""
        self.written_at = time.monotonic()
        """When a write last succeeded."""

    def note_failure(self, error: Exception) -> None:
        """Record a failed write."""
        is_full = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
        self.failure = f"{error}: free space in {self._directory}" if is_full else str(error)

    def note_success(self) -> None:
        """Record a successful write."""
        self.written_at = time.monotonic()
        if self.failure and self._measure_free_space() >= MIN_FREE_BYTES:
            self.failure = ""

    def _measure_free_space(self) -> int:
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize
