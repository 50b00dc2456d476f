"""
Files that appear whole or not at all: written under a temporary name beside their place, made durable, then renamed.

A temporary name holds the number of the process that writes, so that leftovers of a process that was killed can be told
from work that is going on.
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
    Give a temporary name to write to; the file takes its place at the end, or is gone if an exception comes.

    What need not be durable may be found empty after the machine has failed.
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
    """Write a small file whole."""
    with replace_file(target, mode, durable=durable) as partial:
        partial.touch(0o600)  # `mode` may not even let its owner write, and takes effect in the end
        partial.write_bytes(content)


def sync(path: Path) -> None:
    """Wait until a file or directory is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove what processes that no longer exist have left half-written in a directory."""
    for path in directory.iterdir():
        leftover = _LEFTOVER.fullmatch(path.name)
        if leftover and not Path("/proc", leftover[1]).exists():
            with suppress(OSError):
                path.unlink()
