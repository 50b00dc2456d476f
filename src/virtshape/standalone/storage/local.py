"""
Local storage: a volume is a directory with a sparse disk image, in the data directory.

This module schedules jobs; the functions that move data run in threads.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from virtshape.controllers.storage.protocol import (
    Container,
    Copy,
    FillRequest,
    JobStatus,
    StorageError,
    Upload,
    Volume,
    Wake,
)
from virtshape.launcher.images.atomic import remove_leftovers, write_atomically
from virtshape.launcher.images.errors import ImageError, NoSpaceError
from virtshape.launcher.images.progress import Progress
from virtshape.resolve.imagedefaults import ImageDefaults
from virtshape.standalone.storage.diskspace import read_disk_space
from virtshape.standalone.storage.files import (
    copy_volume,
    grow,
    is_image,
    make_blank,
    make_directory,
    remove,
    remove_directory,
)
from virtshape.standalone.storage.imagefetcher import ImageFetcher
from virtshape.standalone.storage.imports import Fetcher, measure_source, populate_volume
from virtshape.standalone.storage.jobs import Jobs
from virtshape.standalone.storage.layout import PROVISIONER, Layout
from virtshape.supervise.supervisor import Supervisor

_FILLED: Final = "filled"
_DEFAULTS: Final = "defaults"


class LocalStorage:
    """Stores volumes in a data directory; `fetcher` downloads their sources."""

    def __init__(self, directory: Path, fetcher: Fetcher, supervisor: Supervisor) -> None:
        self._layout = Layout(directory)
        self._fetcher = fetcher
        self._jobs = Jobs(supervisor)

    @property
    def provisioner(self) -> str:
        """The provisioner in storage classes."""
        return PROVISIONER

    def locate(self, volume: Volume) -> str:
        """Return the path of a volume: the volume's directory, or its image for a block device."""
        return str(self._layout.locate(volume))

    async def make(self, volume: Volume) -> None:
        """Create the volume or enlarge it to its size; existing content is preserved."""
        await _try(partial(self._make, volume, with_image=volume.mode == "Block"))

    async def make_usable(self, volume: Volume) -> None:
        """Ensure that the volume has a disk image of its size, which is empty if it was not populated."""
        await _try(partial(self._make, volume, with_image=True))

    def _make(self, volume: Volume, *, with_image: bool) -> None:
        make_directory(self._layout.volume(volume.name))
        image = self._layout.image(volume.name)
        if is_image(image):
            grow(image, volume.size)
        elif with_image:
            make_blank(image, volume.size)

    async def remove(self, name: str) -> None:
        """Remove a volume."""
        await self._jobs.end_of(name)
        await _try(partial(remove_directory, self._layout.volume(name)))

    async def measure(self, key: str, owner: str, request: FillRequest, attempt: int, wake: Wake) -> JobStatus:
        """Return the status of the job that measures the volume size for a request; start the job if necessary."""
        job = self._jobs.find(key, "measure", attempt)
        if job is not None:
            return job.work
        if self._waits_for_upload(key, request):
            return JobStatus(state="waiting", message="waiting for the upload")
        scratch = self._layout.work(key)

        def task(progress: Progress) -> int:
            make_directory(scratch)
            space = read_disk_space(self._layout.directory)
            space.require()
            guarded = space.guard(progress)
            with _clearing(scratch):
                return measure_source(request, scratch, self._layout.upload(key), self._fetcher, space, guarded)

        return await self._jobs.begin(key, "measure", attempt, task, wake, title=owner)

    async def fill(
        self, key: str, owner: str, volume: Volume, request: FillRequest, attempt: int, wake: Wake
    ) -> JobStatus:
        """
        Return the status of the job that populates the volume; start the job if necessary.

        The content appears in the volume only when it is complete.
        """
        scratch = self._layout.work(key)
        if (scratch / _FILLED).exists():
            return JobStatus(state="done", progress=100.0, size=volume.size)
        job = self._jobs.find(key, "fill", attempt)
        if job is not None:
            return job.work
        if self._waits_for_upload(key, request):
            return JobStatus(state="waiting", message="waiting for the upload")

        def task(progress: Progress) -> int:
            space = read_disk_space(self._layout.directory)
            space.require(volume.size if request.preallocated else 0)
            make_directory(scratch)
            make_directory(self._layout.volume(volume.name))
            remove_leftovers(self._layout.volume(volume.name))
            with _clearing(scratch):
                populate_volume(self._layout, key, volume, request, self._fetcher, space.guard(progress))
            if isinstance(request.source, Container):
                defaults = self._fetcher.read_image_defaults(request.source, progress, policy="IfNotPresent")
                write_atomically(scratch / _DEFAULTS, msgspec.json.encode(defaults))
            write_atomically(scratch / _FILLED, volume.name.encode())
            return volume.size

        reads = request.source.volume.name if isinstance(request.source, Copy) else ""
        return await self._jobs.begin(key, "fill", attempt, task, wake, title=owner, reads=reads, writes=volume.name)

    async def read_image_defaults(self, key: str) -> ImageDefaults:
        """Return the defaults of the image that a finished job imported; empty for other jobs."""
        path = self._layout.work(key) / _DEFAULTS
        return msgspec.json.decode(path.read_bytes(), type=ImageDefaults) if path.exists() else ImageDefaults()

    def _waits_for_upload(self, key: str, request: FillRequest) -> bool:
        return isinstance(request.source, Upload) and not self._layout.upload(key).exists()

    async def forget(self, key: str) -> None:
        """Stop a job that is no longer needed, and remove its files."""
        await self._jobs.end(key)
        self._layout.upload(key).unlink(missing_ok=True)
        await _try(partial(remove_directory, self._layout.work(key)))

    async def keep_only(self, keys: Collection[str]) -> None:
        """Remove the files of all jobs except those with these keys."""
        for directory in (self._layout.scratch, self._layout.uploads):
            for path in directory.iterdir() if directory.exists() else ():
                if path.name not in keys:
                    await _try(partial(remove, path))

    def is_being_copied(self, name: str) -> bool:
        """Return True if a job reads the volume, so that no guest may write to it."""
        return self._jobs.is_reading(name)

    async def take_snapshot(self, name: str, owner: str, volume: Volume, wake: Wake) -> JobStatus:
        """Return the status of the job that copies the volume; start the job if necessary."""
        target = self._layout.snapshot(name)
        if (target / _FILLED).exists():
            return JobStatus(state="done", progress=100.0, size=volume.size)
        job = self._jobs.find(name, "snapshot", 0)
        if job is not None:
            return job.work

        def task(progress: Progress) -> int:
            space = read_disk_space(self._layout.directory)
            space.require()
            remove_directory(target)
            content = self._layout.snapshot_content(name)
            make_directory(content)
            copy_volume(self._layout.volume(volume.name), content, volume.size, space.guard(progress))
            write_atomically(target / _FILLED, volume.name.encode())
            return volume.size

        return await self._jobs.begin(name, "snapshot", 0, task, wake, title=owner, reads=volume.name)

    async def remove_snapshot(self, name: str) -> None:
        """Remove a snapshot."""
        await self._jobs.end(name)
        await _try(partial(remove_directory, self._layout.snapshot(name)))

    async def close(self) -> None:
        """Stop all jobs; unfinished jobs resume at the next start."""
        await self._jobs.close()


@contextmanager
def _clearing(scratch: Path) -> Iterator[None]:
    """If the block raises NoSpaceError, remove the job's temporary files, so that other jobs have space."""
    try:
        yield
    except NoSpaceError:
        remove_directory(scratch)
        raise


async def _try(action: "partial[None]") -> None:
    try:
        await asyncio.to_thread(action)
    except ImageError as error:
        raise StorageError(str(error)) from error
    except OSError as error:
        raise StorageError(f"{error.strerror or error}: {error.filename or 'the data directory'}") from error


@asynccontextmanager
async def open_storage(directory: Path, supervisor: Supervisor) -> AsyncIterator[LocalStorage]:
    """Yield the storage of a data directory; stop all jobs at the end of the `async with` block."""
    storage = LocalStorage(directory, ImageFetcher(Layout(directory)), supervisor)
    try:
        yield storage
    finally:
        await storage.close()
