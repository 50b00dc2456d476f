"""
Directory trees of volumes: limits on their entries and size, and copies of them.

Links are never followed: every directory and file is opened relative to its parent, one at a time.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.progress import Progress
from virtshape.standalone.storage.diskspace import MARGIN

MAX_ENTRIES: Final = 1_000_000
"""Maximum number of files and directories in a volume, if its claim is large enough."""
DEEPEST: Final = 128
"""Maximum depth of directories."""
_BLOCK: Final = 4096
"""Size in bytes that is counted for each directory. A volume may have one entry for each block of this size."""
_CHUNK: Final = 1 << 20
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Usage:
    """Counts the entries and bytes of a volume of `size` bytes; raises RefusedImageError if there are too many."""

    def __init__(self, what: str, size: int) -> None:
        self._what = what
        self._size = size
        self.most_entries = min(MAX_ENTRIES, (size + MARGIN) // _BLOCK)
        self._entries = 0
        self.bytes = 0

    def add_directory(self) -> None:
        """Count a directory."""
        self._entries += 1
        self.add_bytes(_BLOCK)

    def add_file(self, size: int) -> None:
        """Count a file or a link."""
        self._entries += 1
        self.add_bytes(size)

    def add_bytes(self, count: int) -> None:
        """Count bytes of a file, and check the limits of entries and bytes."""
        self.bytes += count
        if self._entries > self.most_entries:
            advice = "request a larger claim" if self.most_entries < MAX_ENTRIES else "no claim can hold more"
            raise RefusedImageError(f"{self._what} has more than {self.most_entries} files and directories: {advice}")
        if self.bytes > self._size:
            raise RefusedImageError(
                f"{self._what} needs more than the {self._size} bytes of the claim: request a larger claim"
            )


@contextmanager
def open_directory(name: str | Path, parent: int | None = None) -> Iterator[int]:
    """Open a directory that is not a link, relative to another one."""
    descriptor = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def create_file(name: str, parent: int) -> int:
    """Create a private file and return its descriptor; raise FileExistsError if the file exists."""
    return os.open(name, _NEW_FILE, 0o600, dir_fd=parent)


def copy_directory(source: Path, target: Path, size: int, progress: Progress) -> None:
    """Copy the files of a volume into one of `size` bytes; check that all files fit before copying the first one."""
    with open_directory(source) as old, open_directory(target) as new:
        needed = Usage("the source", size)
        _measure(old, needed, 1)
        _copy(old, new, Usage("the source", size), progress, needed.bytes, 1)


def _measure(directory: int, usage: Usage, depth: int) -> None:
    for name, info in _scan(directory, depth):
        if stat.S_ISDIR(info.st_mode):
            usage.add_directory()
            with open_directory(name, directory) as below:
                _measure(below, usage, depth + 1)
        else:
            usage.add_file(info.st_size)


def _copy(source: int, target: int, usage: Usage, progress: Progress, total: int, depth: int) -> None:
    for name, info in _scan(source, depth):
        progress(min(usage.bytes, total), total)
        if stat.S_ISDIR(info.st_mode):
            usage.add_directory()
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=target)
            with open_directory(name, source) as old, open_directory(name, target) as new:
                _copy(old, new, usage, progress, total, depth + 1)
        else:
            usage.add_file(0)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=target)  # left by an interrupted copy
            if stat.S_ISLNK(info.st_mode):
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
            else:
                _copy_file(name, source, target, usage, progress, total)


def _scan(directory: int, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the name and status of each directory entry; raise RefusedImageError for entries that cannot be copied."""
    if depth > DEEPEST:
        raise RefusedImageError(f"the source has a path with more than {DEEPEST} directories")
    with os.scandir(directory) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            if not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
                raise RefusedImageError(f"the source contains a device, pipe or socket, {entry.name!r}")
            yield entry.name, info


def _copy_file(name: str, source: int, target: int, usage: Usage, progress: Progress, total: int) -> None:
    with (
        os.fdopen(os.open(name, _FILE, dir_fd=source), "rb", buffering=0) as old,
        os.fdopen(create_file(name, target), "wb") as new,
    ):
        while chunk := old.read(_CHUNK):
            usage.add_bytes(len(chunk))
            new.write(chunk)
            progress(min(usage.bytes, total), total)
        new.flush()
        info = os.fstat(old.fileno())
        os.fchmod(new.fileno(), info.st_mode & 0o777 | 0o600)
        os.utime(new.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
