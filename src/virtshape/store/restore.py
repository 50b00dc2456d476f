"""
Restored backups: continue with revisions that the original database has never used.

A backup has a mark, which `renumber_restored` removes when a server opens the backup for the first time.
"""

import sqlite3


def mark_backup(copy: sqlite3.Connection) -> None:
    """Mark a copy of a database as a backup."""
    if copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone():
        copy.execute("INSERT OR REPLACE INTO meta VALUES ('copied', 1)")


def renumber_restored(connection: sqlite3.Connection, last_revision: int, now: float) -> None:
    """
    If the database is a backup that is opened for the first time, skip all revisions that other copies may have used.

    The original, and other copies of it, may have used the next revisions already. Clients that know those revisions
    must list again, so all earlier history is marked as compacted. The time in microseconds is higher than every
    revision used before, because no store makes a million changes per second.
    """
    if connection.execute("SELECT 1 FROM meta WHERE name = 'copied'").fetchone() is None:
        return
    beginning = max(last_revision + 1, int(now * 1_000_000))
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE meta SET number = ? WHERE name = 'compacted'", (beginning,))
    connection.execute("DELETE FROM meta WHERE name = 'copied'")
    connection.execute("COMMIT")
