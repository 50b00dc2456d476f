"""
Backups of a data directory, whether or not a server uses it: a consistent copy of the database, and keys and users.

A backup is itself a data directory: `virtshape up --data-dir COPY` runs it.
"""

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from virtshape.apiserver.auth.privatefile import DIRECTORY_MODE
from virtshape.store.database import backup, open_for_reading
from virtshape.store.errors import DatabaseError
from virtshape.store.store import FILE_NAME, check_file
from virtshape.store.summary import Summary, summarize

COPIED_FILES = ("kubeconfig", "config.yaml")
"""Optional files to copy in addition to the database and the keys."""


def copy_system(directory: Path, target: Path) -> Summary:
    """Copy a data directory into a new one, check the copy, and return its statistics."""
    source = directory / FILE_NAME
    if not source.exists():
        raise DatabaseError(f"no virtshape system in {directory}")
    target.mkdir(mode=DIRECTORY_MODE, parents=True)
    with _removed_on_failure(target):
        _copy_database(source, target / FILE_NAME)
        _copy_files(directory, target)  # after the database, so that users removed meanwhile are not in the copy
        if faults := check_file(target / FILE_NAME):
            raise DatabaseError(f"the copy of {source} is corrupt: {'; '.join(faults)}")
        return summarize(target / FILE_NAME)


def _copy_files(directory: Path, target: Path) -> None:
    for name in COPIED_FILES:
        if (directory / name).exists():
            shutil.copy2(directory / name, target / name)
    if (directory / "pki").exists():
        shutil.copytree(directory / "pki", target / "pki", ignore=shutil.ignore_patterns(".*", "*.lock"))
        (target / "pki").chmod(DIRECTORY_MODE)


def _copy_database(source: Path, target: Path) -> None:
    try:
        connection = open_for_reading(source)
        try:
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
