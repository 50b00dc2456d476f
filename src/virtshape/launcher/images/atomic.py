"""
Replace files atomically: write to a temporary name in the same directory, sync, then rename.

The temporary name contains the pid of the writer, so that files of killed processes can be found and removed.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_LEFTOVER: Final = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}\.partial")


@contextmanager
def replace_file(target: Path, mode: int = 0o600, *, durable: bool = True) -> Iterator[Path]:
    """
    Yield a temporary path to write to; rename the file to the target at the end, or remove it on an exception.

    Without `durable`, the file may be empty after a host crash.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.parent / f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.partial"
    try:
        yield partial
        partial.chmod(mode)
        if durable:
            sync(partial)
        partial.rename(target)
        if durable:
            sync(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def write_atomically(target: Path, content: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Write a small file atomically."""
    with replace_file(target, mode, durable=durable) as partial:
        partial.touch(0o600)  # `mode` may be read-only, so it is applied last
        partial.write_bytes(content)


def sync(path: Path) -> None:
    """Sync a file or directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove the temporary files of processes that no longer exist."""
    for path in directory.iterdir():
        leftover = _LEFTOVER.fullmatch(path.name)
        if leftover and not Path("/proc", leftover[1]).exists():
            with suppress(OSError):
                path.unlink()
