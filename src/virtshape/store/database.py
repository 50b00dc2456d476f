"""
The SQLite file: its schema, how it is opened, and migrations from older versions.

`log` has one row per revision and is only appended to and compacted; `until` is the revision that replaced the row.
`current` holds the current revision of each object.
"""

import contextlib
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.store.errors import DatabaseError

VERSION: Final = 1
SCHEMA: Final = """
CREATE TABLE log (
    revision   INTEGER PRIMARY KEY,
    type       TEXT    NOT NULL,
    resource   TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    previous   INTEGER NOT NULL,
    until      INTEGER,
    at         INTEGER NOT NULL,
    value      BLOB    NOT NULL
);
CREATE INDEX log_replaced ON log (until) WHERE until IS NOT NULL;
CREATE INDEX log_deleted ON log (revision) WHERE type = 'DELETED';
CREATE TABLE current (
    resource   TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
CREATE TABLE meta (
    name       TEXT PRIMARY KEY,
    number     INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('compacted', 0);
"""
# By version, the SQL script that migrates a file to the next version.
MIGRATIONS: Final[Mapping[int, str]] = {}


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Return the only connection that writes; create the file, or migrate an older one after a backup."""
    is_new = not path.exists()
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    if is_new:
        path.chmod(0o600)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        migrate(connection, path)
        renumber_copy(connection, time.time())
    except sqlite3.Error as error:
        connection.close()
        raise DatabaseError(f"{path} cannot be used as a database: {error}") from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, which the writer never blocks."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA mmap_size = 33554432")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, path: Path, migrations: Mapping[int, str] = MIGRATIONS) -> None:
    """Create the tables, or migrate from the file's version to the current one, in one transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise DatabaseError(
            f"{path} was written by a newer virtshape (format {version}, this one knows {VERSION}): "
            f"upgrade virtshape, or use another --data-dir"
        )
    if version == VERSION:
        return
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    if empty:
        steps = [SCHEMA]
    else:
        steps = [migrations[step] for step in range(version, VERSION)]
        backup(connection, path.with_suffix(f".v{version}.backup"))
    script = ";".join(["BEGIN IMMEDIATE", *steps, f"PRAGMA user_version = {VERSION}", "COMMIT"])
    try:
        connection.executescript(script)
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise DatabaseError(f"migrating {path} to format {VERSION} failed: {error}") from error


def last_revision(connection: sqlite3.Connection) -> int:
    """Return the highest revision ever used, even if it was compacted."""
    (revision,) = connection.execute(
        "SELECT max(coalesce((SELECT max(revision) FROM log), 0), (SELECT number FROM meta WHERE name = 'compacted'))"
    ).fetchone()
    return int(revision)


def backup(source: sqlite3.Connection, target: Path) -> None:
    """Copy a database into a new file while it is in use, and mark the file as a copy."""
    target.touch(0o600, exist_ok=False)
    with contextlib.closing(sqlite3.connect(target)) as copy, copy:
        source.backup(copy)
        if copy.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").fetchone():
            copy.execute("INSERT OR REPLACE INTO meta VALUES ('copied', 1)")


def renumber_copy(connection: sqlite3.Connection, now: float) -> None:
    """
    Continue a copy that is opened for the first time at revisions that no other copy has used.

    The original, and other copies of it, may have used the next revisions already. Clients that know those must list
    again, so all earlier history is marked as compacted. The time in microseconds is higher than every revision used
    before, because no store makes a million changes per second.
    """
    if connection.execute("SELECT 1 FROM meta WHERE name = 'copied'").fetchone() is None:
        return
    beginning = max(last_revision(connection) + 1, int(now * 1_000_000))
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE meta SET number = ? WHERE name = 'compacted'", (beginning,))
    connection.execute("DELETE FROM meta WHERE name = 'copied'")
    connection.execute("COMMIT")


def measure_history(connection: sqlite3.Connection) -> int:
    """Return the size in bytes of replaced and deleted objects in the log."""
    (size,) = connection.execute(
        "SELECT (SELECT coalesce(sum(length(value)), 0) FROM log WHERE until IS NOT NULL) "
        "+ (SELECT coalesce(sum(length(value)), 0) FROM log WHERE type = 'DELETED')"
    ).fetchone()
    return int(size)


def check_integrity(connection: sqlite3.Connection) -> list[str]:
    """Return descriptions of all problems in a database file; empty if there are none."""
    faults = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    checks = {
        "current state without its revision in the log": (
            "SELECT count(*) FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE l.revision IS NULL"
        ),
        "live revisions in the log that are not the current state": (
            "SELECT count(*) FROM log l LEFT JOIN current c ON c.revision = l.revision "
            "WHERE l.until IS NULL AND l.type != 'DELETED' AND c.revision IS NULL"
        ),
        "current state that the log says was replaced or deleted": (
            "SELECT count(*) FROM current c JOIN log l ON l.revision = c.revision "
            "WHERE l.until IS NOT NULL OR l.type = 'DELETED'"
        ),
    }
    for fault, query in checks.items():
        (count,) = connection.execute(query).fetchone()
        if count:
            faults.append(f"{count} of: {fault}")
    return faults
