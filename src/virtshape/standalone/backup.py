"""
Copies of a data directory, running or not: the database as of one moment, with the keys and users that belong to it.

A copy is a data directory itself: `virtshape up --data-dir COPY` runs it.
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

BESIDES = ("kubeconfig", "config.yaml")
"""Files that belong to a system beside its database and keys, where they are there."""


def copy_system(directory: Path, target: Path) -> Summary:
    """Copy a data directory into a new one, and check the copy; what it holds."""
    source = directory / FILE_NAME
    if not source.exists():
        raise DatabaseError(f"there is no system in {directory}")
    target.mkdir(mode=DIRECTORY_MODE, parents=True)
    with _undone_on_failure(target):
        _copy_database(source, target / FILE_NAME)
        _copy_files(directory, target)  # after it, so that whoever was removed meanwhile does not get into the copy
        if faults := check_file(target / FILE_NAME):
            raise DatabaseError(f"the copy of {source} is broken: {'; '.join(faults)}")
        return summarize(target / FILE_NAME)


def _copy_files(directory: Path, target: Path) -> None:
    for name in BESIDES:
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
def _undone_on_failure(target: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
