"""Whether a store can be written: what the last writes have shown, and whether there is room on its disk."""

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

LEAST_ROOM: Final = 4 * 1024 * 1024
"""Bytes that must be free before a store counts as writable again; small writes may succeed on a full disk."""


class WriteHealth:
    """The outcome of the last writes to a store in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.failure = ""
        """Why writes fail; empty if they succeed."""
        self.written_at = time.monotonic()
        """When a write last succeeded."""

    def note_failure(self, error: Exception) -> None:
        """Record that a write failed."""
        is_full = isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "") == "SQLITE_FULL"
        self.failure = f"{error}: free space in {self._directory}" if is_full else str(error)

    def note_success(self) -> None:
        """Record that a write succeeded."""
        self.written_at = time.monotonic()
        if self.failure and self._measure_room() >= LEAST_ROOM:
            self.failure = ""

    def _measure_room(self) -> int:
        found = os.statvfs(self._directory)
        return found.f_bavail * found.f_frsize
