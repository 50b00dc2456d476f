"""
Copy images by reflink if the file system supports it; otherwise copy the data and preserve holes.

The copy is independent of its source.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from virtshape.launcher.images.progress import Progress, ignore

Method = Literal["reflink", "copy"]

_FICLONE: Final = 0x40049409
_STEP: Final = 16 << 20
_NO_REFLINK: Final = {
    errno.EOPNOTSUPP,
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOTTY,
    errno.ENOSYS,
    errno.EPERM,
    errno.EACCES,
}
_NO_KERNEL_COPY: Final = {errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM}


def copy_file(source: Path, target: Path, progress: Progress = ignore, size: int | None = None) -> Method:
    """Copy a file without following links, extend the copy to `size` bytes, and return the method that was used."""
    reading = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            total = os.lseek(reading, 0, os.SEEK_END)  # stat reports no size for block devices
            method: Method = "reflink" if _share_blocks(reading, writing) else "copy"
            if method == "copy":
                _copy_data(reading, writing, total, progress)
            os.ftruncate(writing, max(total, size or 0))
            progress(total, total)
        finally:
            os.close(writing)
    finally:
        os.close(reading)
    return method


def _share_blocks(reading: int, writing: int) -> bool:
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError as error:
        if error.errno in _NO_REFLINK:
            return False
        raise
    return True


def _copy_data(reading: int, writing: int, total: int, progress: Progress) -> None:
    copy = _copy_in_kernel
    for start, end in _list_data(reading, total):
        while start < end:
            progress(start, total)
            try:
                copied = copy(reading, writing, start, min(_STEP, end - start))
            except OSError as error:
                if copy is not _copy_in_kernel or error.errno not in _NO_KERNEL_COPY:
                    raise
                copy = _copy_by_hand
                continue
            if copied == 0:
                raise OSError(errno.EIO, "the file became shorter while it was copied")
            os.posix_fadvise(writing, start, copied, os.POSIX_FADV_DONTNEED)  # starts writeback before fsync
            start += copied


def _list_data(reading: int, total: int) -> Iterator[tuple[int, int]]:
    """Yield the data ranges of a file; the whole file if the file system does not report holes."""
    end = 0
    while end < total:
        try:
            start = os.lseek(reading, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            if error.errno != errno.EINVAL:
                raise
            yield end, total
            return
        end = min(total, os.lseek(reading, start, os.SEEK_HOLE))
        yield start, end


def _copy_in_kernel(reading: int, writing: int, offset: int, length: int) -> int:
    return os.copy_file_range(reading, writing, length, offset, offset)


def _copy_by_hand(reading: int, writing: int, offset: int, length: int) -> int:
    return os.pwrite(writing, os.pread(reading, length, offset), offset)
