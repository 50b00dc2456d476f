"""
Uploads in the data directory: written as they arrive, checked at the end, and renamed when complete.

Each volume accepts one upload at a time. An interrupted upload is removed.
"""

import asyncio
import errno
import io
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from virtshape.apiserver.uploads.sink import IncomingUpload, UploadSinkError
from virtshape.controllers.storage.protocol import StorageError
from virtshape.launcher.images.atomic import sync
from virtshape.launcher.images.errors import ImageError, NoSpaceError
from virtshape.launcher.images.inspection import COMPRESSED, inspect_image, read_format
from virtshape.standalone.storage.diskspace import MARGIN, UNSIZED_ARCHIVE, DiskSpace, read_disk_space
from virtshape.standalone.storage.files import make_directory
from virtshape.standalone.storage.layout import Layout

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class UploadDirectory:
    """Stores uploads in a data directory."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._open: set[str] = set()

    @asynccontextmanager
    async def receive(self, upload: IncomingUpload, is_wanted: Callable[[], bool]) -> AsyncIterator["UploadFile"]:
        """Receive an upload during the `async with` block; check and store it if the block ends without an error."""
        try:
            target, space = self._layout.upload(upload.key), read_disk_space(self._layout.directory)
        except (StorageError, ImageError) as error:
            raise UploadSinkError(str(error)) from error
        limit = get_limit(upload, space)
        if upload.key in self._open or target.exists():
            raise UploadSinkError("another upload to the same claim is in progress", is_temporary=True)
        partial = target.with_name(f".{upload.key}.upload")
        self._open.add(upload.key)
        try:
            make_directory(target.parent)
            _require_space(space, upload, limit)
            file = UploadFile(partial, limit, space)
            try:
                yield file
            finally:
                file.close()
            await asyncio.to_thread(require_upload_fits, partial, upload, space)
            if not is_wanted():
                raise UploadSinkError("the claim no longer waits for an upload")
            partial.rename(target)
        except NoSpaceError as error:
            raise UploadSinkError(str(error), is_temporary=True) from error
        except OSError as error:
            raise _explain(error) from error
        finally:
            partial.unlink(missing_ok=True)
            self._open.discard(upload.key)


class UploadFile:
    """A file that grows to at most `limit` bytes, and does not use reserved disk space."""

    def __init__(self, path: Path, limit: int, space: DiskSpace) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        # A closed file object rejects late writes from a thread; a bare descriptor might refer to another file by then.
        self._file = io.FileIO(os.open(path, flags, 0o600), "w")
        self._limit = limit
        self._space = space
        self._size = 0

    async def write(self, data: bytes) -> None:
        """Append data."""
        if self._size + len(data) > self._limit:
            raise UploadSinkError(f"the upload is larger than the {self._limit} bytes that fit into the claim")
        try:
            await asyncio.to_thread(self._write, data)
        except OSError as error:
            raise _explain(error) from error

    def _write(self, data: bytes) -> None:
        self._space.require(len(data))
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        # Start writeback now, so that the final sync is short.
        os.posix_fadvise(self._file.fileno(), self._size, len(data), os.POSIX_FADV_DONTNEED)
        self._size += len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def get_limit(upload: IncomingUpload, space: DiskSpace) -> int:
    """Return the maximum number of bytes; raise UploadSinkError if the upload is not possible."""
    if upload.size is not None:
        return upload.size + MARGIN
    if upload.content == "archive":
        raise UploadSinkError(UNSIZED_ARCHIVE)
    return space.largest


def require_upload_fits(path: Path, upload: IncomingUpload, space: DiskSpace) -> None:
    """Raise UploadSinkError if the file is empty or not a usable image; otherwise, sync the file to disk."""
    try:
        form, _, size = read_format(path)
        if size == 0:
            raise UploadSinkError("the upload is empty")
        if upload.content != "archive" and form not in COMPRESSED:
            inspect_image(path, upload.size if upload.size is not None else space.largest)
    except ImageError as error:
        raise UploadSinkError(str(error)) from error
    sync(path)


def _require_space(space: DiskSpace, upload: IncomingUpload, limit: int) -> None:
    length = upload.length or 0
    if length > limit and upload.size is not None:
        raise UploadSinkError(f"{length} bytes do not fit into a claim of {upload.size}: request a larger claim")
    if length > limit:
        raise UploadSinkError(f"{length} bytes exceed the limit of {limit} for an upload to a claim without a size")
    space.require(length)


def _explain(error: OSError) -> UploadSinkError:
    is_full = error.errno in _FULL
    return UploadSinkError("the disk is full" if is_full else error.strerror or str(error), is_temporary=True)
