"""
Compaction: determine which revisions of the history to remove, and remove them.

Clients that ask for a removed revision must list again.
"""

import sqlite3
from collections import deque
from typing import Final

from virtshape.store.errors import CompactedError

DEFAULT_WINDOW_BYTES: Final = 256 * 1024 * 1024
ROWS_PER_BATCH: Final = 1000
_STEPS: Final = 64


class HistorySize:
    """
    Adds up the bytes of changes, and determines the last revision to compact when they exceed the limit.

    A change counts as the size of the object after the change; the replaced object usually has about the same size.
    """

    def __init__(self, limit: int, revision: int, size: int = 0) -> None:
        self._limit = limit
        # Groups of changes: the last revision, and the total bytes.
        self._steps: deque[tuple[int, int]] = deque([(revision, size)])
        self._sum = size

    def add(self, revision: int, size: int) -> None:
        """Add the size of the change that made this revision."""
        self._sum += size
        last, counted = self._steps[-1]
        if counted + size > self._limit // _STEPS:
            self._steps.append((revision, size))
        else:
            self._steps[-1] = (max(last, revision), counted + size)

    def take_surplus(self) -> int:
        """Stop counting the oldest changes that exceed the limit; return the last revision of these changes, or 0."""
        forgotten = 0
        while self._sum > self._limit:
            forgotten, size = self._steps.popleft()
            self._sum -= size
            if not self._steps:
                self._steps.append((forgotten, 0))
        return forgotten


def read_oldest(connection: sqlite3.Connection) -> int:
    """Return the revision since which the history is complete."""
    (number,) = connection.execute("SELECT number FROM meta WHERE name = 'compacted'").fetchone()
    return int(number)


def require_not_compacted(connection: sqlite3.Connection, revision: int) -> None:
    """Raise CompactedError if some history after this revision was removed."""
    oldest = read_oldest(connection)
    if revision < oldest:
        raise CompactedError(revision, oldest)


def find_last_revision(connection: sqlite3.Connection, time: int) -> int:
    """Return the last revision written at or before a time, in seconds since 1970; 0 if there is none."""
    row = connection.execute(
        "SELECT revision FROM log WHERE at <= ? ORDER BY revision DESC LIMIT 1", (time,)
    ).fetchone()
    return int(row[0]) if row else 0


def compact_batch(connection: sqlite3.Connection, before: int) -> bool:
    """Remove one batch of objects that were replaced or deleted up to a revision; return True if more may remain."""
    connection.execute("BEGIN IMMEDIATE")
    gone = 0
    for forgotten in ("until <= ?", "type = 'DELETED' AND revision <= ?"):
        rows = f"SELECT revision FROM log WHERE {forgotten} LIMIT {ROWS_PER_BATCH}"
        gone += connection.execute(f"DELETE FROM log WHERE revision IN ({rows})", (before,)).rowcount
    connection.execute("UPDATE meta SET number = max(number, ?) WHERE name = 'compacted'", (before,))
    connection.execute("COMMIT")
    return gone >= ROWS_PER_BATCH
