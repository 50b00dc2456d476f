"""
Populate volumes: fetch, decompress, inspect and convert an image, and move it into place as the last step.

All functions may block. Partial results stay in the scratch directory, for the next attempt to resume or remove.
"""

from pathlib import Path
from typing import Protocol

from virtshape.controllers.storage.protocol import (
    Blank,
    Container,
    Copy,
    FillRequest,
    FillSource,
    Restore,
    Upload,
    Volume,
    Web,
)
from virtshape.launcher.images.atomic import replace_file, sync
from virtshape.launcher.images.compression import unpack
from virtshape.launcher.images.containerdisk import Policy
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.inspection import COMPRESSED, inspect_image, read_format
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.images.qcow2 import convert
from virtshape.resolve.imagedefaults import ImageDefaults
from virtshape.standalone.storage.archives import unpack_archive
from virtshape.standalone.storage.diskspace import MARGIN, UNSIZED_ARCHIVE, DiskSpace
from virtshape.standalone.storage.files import copy_image, copy_volume, make_blank, resize
from virtshape.standalone.storage.layout import Layout


class Fetcher(Protocol):
    """Fetches files, resumes interrupted downloads, and reads the defaults of container images."""

    def fetch_web(self, origin: Web, scratch: Path, limit: int, progress: Progress) -> Path:
        """Download a file of at most `limit` bytes into the scratch directory, and return its path."""

    def fetch_container(self, origin: Container, limit: int, progress: Progress) -> Path:
        """
        Pull a container image and return the path of its disk image, which has at most `limit` bytes.

        Other volumes share the file, so it must not be changed or moved.
        """

    def read_image_defaults(
        self, origin: Container, progress: Progress, *, policy: Policy | None = None
    ) -> ImageDefaults:
        """Return the default instance type and preference of a container image; the `ignored` field reports errors."""


def populate_volume(
    layout: Layout, key: str, volume: Volume, request: FillRequest, fetcher: Fetcher, progress: Progress
) -> None:
    """Populate a volume from the request's source; `key` identifies the job."""
    target, scratch = layout.image(volume.name), layout.work(key)
    match request.source:
        case Blank():
            make_blank(target, volume.size, preallocated=request.preallocated)
        case Copy(volume=copied):
            directory = layout.volume(copied.name)
            copy_volume(directory, target.parent, volume.size, progress, preallocated=request.preallocated)
        case Restore(snapshot=name):
            directory = layout.snapshot_content(name)
            copy_volume(directory, target.parent, volume.size, progress, preallocated=request.preallocated)
        case Container() as origin:
            source = fetcher.fetch_container(origin, volume.size + MARGIN, _share(progress, 0, 80))
            write_image(source, target, volume.size, request, scratch, _share(progress, 80, 100), keeps_source=True)
        case Web() as origin:
            source = fetcher.fetch_web(origin, scratch, volume.size + MARGIN, _share(progress, 0, 80))
            _write(source, target, volume, request, scratch, _share(progress, 80, 100))
        case Upload():
            _write(layout.upload(key), target, volume, request, scratch, progress)


def _write(source: Path, target: Path, volume: Volume, request: FillRequest, scratch: Path, progress: Progress) -> None:
    if request.content == "archive":
        if volume.mode == "Block":
            raise RefusedImageError(
                "an archive needs a claim with volumeMode Filesystem; this one has volumeMode Block"
            )
        unpack_archive(source, target.parent, volume.size, scratch, progress)
        source.unlink()
    else:
        write_image(source, target, volume.size, request, scratch, progress, keeps_source=False)


def write_image(
    source: Path,
    target: Path,
    size: int,
    request: FillRequest,
    scratch: Path,
    progress: Progress,
    *,
    keeps_source: bool,
) -> None:
    """Write a disk image from a source file; unless `keeps_source` is set, the source file is moved or removed."""
    image = decompress_image(source, scratch, size + MARGIN, _share(progress, 0, 50))
    info = inspect_image(image, size)
    if info.format == "raw" and (image != source or not keeps_source):
        resize(image, size, preallocated=request.preallocated)
        sync(image)
        image.chmod(0o600)
        image.replace(target)
        sync(target.parent)
    elif info.format == "raw":
        copy_image(image, target, size, _share(progress, 50, 100), preallocated=request.preallocated)
    else:
        with replace_file(target) as partial:
            convert(image, info.format, partial, "raw", _share(progress, 50, 100))
            resize(partial, size, preallocated=request.preallocated)
    if not keeps_source:
        source.unlink(missing_ok=True)


def decompress_image(source: Path, scratch: Path, limit: int | None, progress: Progress) -> Path:
    """Return the path of the image: the source itself, or if that is compressed, its decompressed content."""
    form, _, _ = read_format(source)
    if form not in COMPRESSED:
        return source
    unpacked = scratch / "unpacked"
    unpack(source, form, unpacked, limit, progress)
    return unpacked


def measure_source(
    request: FillRequest, scratch: Path, upload: Path, fetcher: Fetcher, space: DiskSpace, progress: Progress
) -> int:
    """Return the volume size that the source needs; `upload` is the path of an uploaded file."""
    if request.content == "archive":
        raise RefusedImageError(UNSIZED_ARCHIVE)
    is_upload = isinstance(request.source, Upload)
    source = upload if is_upload else _fetch(request.source, scratch, fetcher, space, _share(progress, 0, 90))
    image = decompress_image(source, scratch, space.largest, _share(progress, 90, 100))
    return inspect_image(image, space.largest).size


def _fetch(origin: FillSource, scratch: Path, fetcher: Fetcher, space: DiskSpace, progress: Progress) -> Path:
    match origin:
        case Web():
            return fetcher.fetch_web(origin, scratch, space.largest, progress)
        case Container():
            return fetcher.fetch_container(origin, space.largest, progress)
        case _:
            raise RefusedImageError(
                "the size of this volume cannot be detected: set spec.storage.resources.requests.storage"
            )


def _share(progress: Progress, start: int, end: int) -> Progress:
    """Return a progress function for one step of the job, scaled to the progress of the whole job."""

    def report(done: int, total: int | None) -> None:
        if total:
            progress(start * total + min(done, total) * (end - start), 100 * total)
        else:
            progress(start, None)

    return report
