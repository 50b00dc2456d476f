"""
The SQLite file: its schema, how it is opened, and migrations from older versions.

`log` has one row per revision and is only appended to and compacted; `until` is the revision that replaced the row.
`current` contains the current revision of each object.
"""

import contextlib
import sqlite3
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.store.errors import DatabaseError
from virtshape.store.restore import mark_backup, renumber_restored

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
# The SQL scripts that migrate a file from each version (the key) to the next.
MIGRATIONS: Final[Mapping[int, str]] = {}


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Create or migrate the file, and return the only connection that writes; raise DatabaseError if that fails."""
    is_new = not path.exists()
    try:
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=64)
    except sqlite3.Error as error:
        raise unusable_file_error(path, error) from error
    if is_new:
        path.chmod(0o600)
    try:
        require_supported(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        migrate(connection, path)
        renumber_restored(connection, last_revision(connection), time.time())
    except sqlite3.Error as error:
        connection.close()
        raise unusable_file_error(path, error) from error
    except DatabaseError:
        connection.close()
        raise
    return connection


def unusable_file_error(path: Path, error: sqlite3.Error) -> DatabaseError:
    """Return the error for a file that SQLite cannot open or read."""
    return DatabaseError(f"{path} cannot be used as a database: {error}")


def require_supported(connection: sqlite3.Connection, path: Path) -> int:
    """Return the format of a database; raise DatabaseError if a newer version wrote it."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise DatabaseError(
            f"{path} was written by a newer virtshape (format {version}, this version supports format {VERSION}): "
            f"upgrade virtshape, or use another --data-dir"
        )
    return int(version)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, which the writer never blocks."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, path: Path, migrations: Mapping[int, str] = MIGRATIONS) -> None:
    """
    Create the tables or, after a backup, migrate an older file, in one transaction.

    Raise DatabaseError if the file was written by a newer version or the migration fails.
    """
    version = require_supported(connection, path)
    if version == VERSION:
        return
    empty = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    if empty:
        steps = [SCHEMA]
    else:
        steps = [migrations[step] for step in range(version, VERSION)]
        _replace_backup(connection, path.with_suffix(f".v{version}.backup"))
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
    """Copy a database, which may be in use, into a new file, and mark the file as a backup."""
    target.touch(0o600, exist_ok=False)
    with contextlib.closing(sqlite3.connect(target)) as copy, copy:
        source.backup(copy)
        mark_backup(copy)


def _replace_backup(source: sqlite3.Connection, target: Path) -> None:
    """Back up a database, and then replace an earlier backup, which a failed migration may have left."""
    draft = target.with_name(f"{target.name}.part")
    draft.unlink(missing_ok=True)
    try:
        backup(source, draft)
        for suffix in ("-wal", "-shm"):  # files of an earlier backup that was opened
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


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
        "current objects without their revision in the log": (
            "SELECT count(*) FROM current c LEFT JOIN log l ON l.revision = c.revision WHERE l.revision IS NULL"
        ),
        "live revisions in the log that are not current objects": (
            "SELECT count(*) FROM log l LEFT JOIN current c ON c.revision = l.revision "
            "WHERE l.until IS NULL AND l.type != 'DELETED' AND c.revision IS NULL"
        ),
        "current objects that were replaced or deleted according to the log": (
            "SELECT count(*) FROM current c JOIN log l ON l.revision = c.revision "
            "WHERE l.until IS NOT NULL OR l.type = 'DELETED'"
        ),
    }
    for fault, query in checks.items():
        (count,) = connection.execute(query).fetchone()
        if count:
            faults.append(f"{fault}: {count}")
    return faults
