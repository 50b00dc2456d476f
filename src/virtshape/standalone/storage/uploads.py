"""
What clients upload, kept in the data directory: written as it comes, judged when it is there, then handed over whole.

One at a time for each piece of work. What breaks off leaves nothing.
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
    """Keeps uploads in a data directory."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._open: set[str] = set()

    @asynccontextmanager
    async def receive(self, delivery: IncomingUpload, is_wanted: Callable[[], bool]) -> AsyncIterator["UploadFile"]:
        """Take something in for as long as the block lasts, and hand it over if it ends well."""
        try:
            target, space = self._layout.upload(delivery.key), read_disk_space(self._layout.directory)
        except (StorageError, ImageError) as error:
            raise UploadSinkError(str(error)) from error
        limit = find_limit(delivery, space)
        if delivery.key in self._open or target.exists():
            raise UploadSinkError("something else is being uploaded to the same claim", is_temporary=True)
        partial = target.with_name(f".{delivery.key}.upload")
        self._open.add(delivery.key)
        try:
            make_directory(target.parent)
            _check_space(space, delivery, limit)
            parcel = UploadFile(partial, limit, space)
            try:
                yield parcel
            finally:
                parcel.close()
            await asyncio.to_thread(check_upload, partial, delivery, space)
            if not is_wanted():
                raise UploadSinkError("nobody waits for it any more")
            partial.rename(target)
        except NoSpaceError as error:
            raise UploadSinkError(str(error), is_temporary=True) from error
        except OSError as error:
            raise _explain(error) from error
        finally:
            partial.unlink(missing_ok=True)
            self._open.discard(delivery.key)


class UploadFile:
    """A file that grows to at most `limit` bytes, and never into the reserve of the disk."""

    def __init__(self, path: Path, limit: int, space: DiskSpace) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        # Closed, this file refuses a thread that is still at it; a bare descriptor might be another file by then.
        self._file = io.FileIO(os.open(path, flags, 0o600), "w")
        self._limit = limit
        self._space = space
        self._size = 0

    async def write(self, data: bytes) -> None:
        """Keep the next piece."""
        if self._size + len(data) > self._limit:
            raise UploadSinkError(f"more than {self._limit} bytes do not fit into the claim")
        try:
            await asyncio.to_thread(self._write, data)
        except OSError as error:
            raise _explain(error) from error

    def _write(self, data: bytes) -> None:
        self._space.check(len(data))
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        # Begins to write it out, so that the end need not wait for all of it.
        os.posix_fadvise(self._file.fileno(), self._size, len(data), os.POSIX_FADV_DONTNEED)
        self._size += len(data)

    def close(self) -> None:
        """Write no more."""
        self._file.close()


def find_limit(delivery: IncomingUpload, space: DiskSpace) -> int:
    """Return how many bytes may be sent at most; UploadSinkError if nothing may."""
    if delivery.size is not None:
        return delivery.size + MARGIN
    if delivery.content == "archive":
        raise UploadSinkError(UNSIZED_ARCHIVE)
    return space.largest


def check_upload(path: Path, delivery: IncomingUpload, space: DiskSpace) -> None:
    """Refuse what cannot be used, as far as a look at it shows; what passes is on the disk."""
    try:
        form, _, size = read_format(path)
        if size == 0:
            raise UploadSinkError("it is empty")
        if delivery.content != "archive" and form not in COMPRESSED:
            inspect_image(path, delivery.size if delivery.size is not None else space.largest)
    except ImageError as error:
        raise UploadSinkError(str(error)) from error
    sync(path)


def _check_space(space: DiskSpace, delivery: IncomingUpload, limit: int) -> None:
    length = delivery.length or 0
    if length > limit and delivery.size is not None:
        raise UploadSinkError(f"{length} bytes do not fit into a claim of {delivery.size}: make it larger")
    if length > limit:
        raise UploadSinkError(f"{length} bytes are more than the {limit} that an upload without a size may have")
    space.check(length)


def _explain(error: OSError) -> UploadSinkError:
    is_full = error.errno in _FULL
    return UploadSinkError("the disk is full" if is_full else error.strerror or str(error), is_temporary=True)
