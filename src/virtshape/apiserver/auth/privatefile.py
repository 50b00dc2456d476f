"""
Files that only their owner may read: keys, tokens and the audit log.

New contents replace a file atomically and are never readable by other users.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
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
    _sync_directory(path.parent)


def read_private(path: Path) -> bytes:
    """Return the file's contents, after removing any access for group and others."""
    if path.stat().st_mode & 0o077:
        path.chmod(FILE_MODE)
    return path.read_bytes()


def make_private_directory(path: Path) -> None:
    """Create the directory with access for its owner only, if it does not exist."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)


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


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
