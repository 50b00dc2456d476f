"""Read statistics and objects from a database file, whether or not a server uses it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from virtshape.store.database import last_revision, open_for_reading, require_supported
from virtshape.store.errors import DatabaseError
from virtshape.store.record import Key, Record


class Summary(Struct, frozen=True):
    """Statistics of a database."""

    revision: int
    """The newest revision in the database."""
    objects: dict[str, int]
    """Number of objects of each resource, such as `virtualmachines.kubevirt.io`."""
    size: int
    """Bytes on disk, including the write-ahead log."""


def summarize(path: Path) -> Summary:
    """Return the statistics of a file; raise DatabaseError if the file cannot be read."""
    try:
        connection = open_for_reading(path)
        try:
            require_supported(connection, path)
            rows = connection.execute("SELECT resource, count(*) FROM current GROUP BY resource ORDER BY resource")
            return Summary(last_revision(connection), dict(rows.fetchall()), _measure(path))
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatabaseError(f"{path} is not a readable database: {error}") from error


def read_records(path: Path) -> Iterator[Record]:
    """Yield every object in a database file."""
    connection = open_for_reading(path)
    try:
        for resource, namespace, name, revision, value in connection.execute(
            "SELECT c.resource, c.namespace, c.name, c.revision, l.value "
            "FROM current c JOIN log l ON l.revision = c.revision"
        ):
            yield Record(Key(resource, namespace, name), revision, value)
    finally:
        connection.close()


def _measure(path: Path) -> int:
    files = [path, path.with_name(f"{path.name}-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
