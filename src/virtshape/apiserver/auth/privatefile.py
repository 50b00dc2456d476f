"""
Files that only their owner may read: keys, tokens, what was done by whom.

A file is replaced as a whole or not at all, and never readable by others, not even for a moment.
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
    """Replace the file, durably; whoever reads it meanwhile sees the old content or the new."""
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
    """Read the file, after taking away what others may do with it."""
    if path.stat().st_mode & 0o077:
        path.chmod(FILE_MODE)
    return path.read_bytes()


def make_private_directory(path: Path) -> None:
    """Make the directory, if it is not there, so that only its owner may enter."""
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Keep out other processes that lock the same file; the lock dies with the process."""
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
