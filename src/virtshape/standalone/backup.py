"""
Back up a data directory, whether or not a server uses it: a consistent copy of the database, the keys and the users.

A backup is itself a data directory: `virtshape up --data-dir COPY` starts a server with it.
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from virtshape.apiserver.auth.privatefile import make_private_directory, sync_directory, write_private
from virtshape.store.database import backup, open_for_reading, require_supported
from virtshape.store.errors import DatabaseError
from virtshape.store.store import FILE_NAME, check_file
from virtshape.store.summary import Summary, summarize

COPIED_FILES = ("kubeconfig", "config.yaml")
"""Optional files to copy in addition to the database and the keys."""


def copy_system(directory: Path, target: Path) -> Summary:
    """Copy a data directory into a new directory, check the copied database, and return its statistics."""
    source = directory / FILE_NAME
    if not source.exists():
        raise DatabaseError(f"{directory} is not a data directory of virtshape")
    make_private_directory(target, exist_ok=False)
    with _removed_on_failure(target):
        _copy_database(source, target / FILE_NAME)
        _copy_files(directory, target)  # copied last, so that users removed during the backup are not in the copy
        if faults := check_file(target / FILE_NAME):
            raise DatabaseError(f"the copy of {source} is corrupt: {'; '.join(faults)}")
        return summarize(target / FILE_NAME)


def _copy_files(directory: Path, target: Path) -> None:
    """Copy the files durably; afterwards, the directory has durable entries for all of them and for the database."""
    keys = [path.relative_to(directory) for path in (directory / "pki").glob("[!.]*") if path.suffix != ".lock"]
    for name in [*(Path(name) for name in COPIED_FILES), *keys]:
        if (directory / name).exists():
            write_private(target / name, (directory / name).read_bytes())
    sync_directory(target)


def _copy_database(source: Path, target: Path) -> None:
    try:
        connection = open_for_reading(source)
        try:
            require_supported(connection, source)
            backup(connection, target)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise DatabaseError(f"{source} cannot be copied: {error}") from error


@contextlib.contextmanager
def _removed_on_failure(target: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
