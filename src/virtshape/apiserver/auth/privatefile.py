"""
Files that only their owner may read: keys, tokens and the audit log.

`write_private` replaces a file atomically, and its new contents are never readable by other users.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from secrets import token_hex

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700


def write_private(path: Path, data: bytes) -> None:
    """Replace the file atomically and durably."""
    make_private_directory(path.parent)
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


def read_private(path: Path) -> bytes:
    """Return the file's contents, after removing any access for group and others."""
    if path.stat().st_mode & 0o077:
        path.chmod(FILE_MODE)
    return path.read_bytes()


def make_private_directory(path: Path, *, exist_ok: bool = True) -> None:
    """
    Create the directory durably, accessible only to its owner.

    Raise FileExistsError if it already exists and `exist_ok` is False.
    """
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=exist_ok)
    for each in missing:
        with suppress(PermissionError):  # the directory above need not be readable
            sync_directory(each.parent)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file within a `with` block; the kernel releases it if the process ends."""
    make_private_directory(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Make the entries of a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
