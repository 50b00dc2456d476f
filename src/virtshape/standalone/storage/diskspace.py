"""
Disk space limits of imports and uploads, and a reserve that keeps the database writable.

The reserve consists of free space and free inodes in the data directory's file system. Imports, uploads and copies stop
before they use the reserve, but guests can use it by writing to their volumes.
"""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.api.quantity import Quantity
from virtshape.launcher.images.errors import NoSpaceError, TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.standalone.config import ConfigurationError, StorageLimits, read_configuration

MARGIN: Final = 64 << 20
"""Bytes by which a source file may exceed the claim's size, for headers, tables and padding."""
RESERVE: Final = 1 << 30
"""Default reserve in bytes."""
MIN_FREE_INODES: Final = 1000
"""Minimum number of inodes that uploads, imports and copies leave free."""
MAX_IMAGE_BYTES: Final = 100 << 30
"""Default maximum size of a disk or file without a requested size."""
IMAGE_CACHE_BYTES: Final = 20 << 30
"""Default size of the image cache above which unused images are removed; at most a quarter of the file system."""
UNSIZED_ARCHIVE: Final = "an archive needs a claim with a size: set spec.storage.resources.requests.storage"


class DiskSpace(Struct, frozen=True):
    """The disk space limits of a data directory."""

    directory: Path
    reserve: int = RESERVE
    largest: int = MAX_IMAGE_BYTES
    image_cache: int = IMAGE_CACHE_BYTES

    def require(self, wanted: int = 0) -> None:
        """Raise NoSpaceError if `wanted` more bytes would not leave the reserve free, or if too few inodes are free."""
        system = os.statvfs(self.directory)
        if system.f_files and system.f_favail < MIN_FREE_INODES:  # some file systems have no fixed number of inodes
            raise NoSpaceError(
                f"the disk is full: {system.f_favail} inodes are free, and {MIN_FREE_INODES} are reserved for the "
                "database"
            )
        free = system.f_bavail * system.f_frsize
        if free - wanted < self.reserve:
            asked = f"{wanted} bytes are needed, " if wanted else ""
            raise NoSpaceError(
                f"the disk is full: {asked}{free} bytes are free, and {self.reserve} are reserved for the database "
                "(storage.reserve in config.yaml)"
            )

    def guard(self, progress: Progress) -> Progress:
        """Return a progress function that raises NoSpaceError, to stop the job, if less than the reserve is free."""

        def report(done: int, total: int | None) -> None:
            self.require()
            progress(done, total)

        return report


def read_disk_space(directory: Path) -> DiskSpace:
    """Return the limits of a data directory; raise TransferError if its configuration cannot be read."""
    try:
        storage = read_configuration(directory).storage or StorageLimits()
    except ConfigurationError as error:
        raise TransferError(str(error)) from error
    system = os.statvfs(directory)
    cache = min(IMAGE_CACHE_BYTES, system.f_blocks * system.f_frsize // 4)
    return DiskSpace(
        directory,
        _read(storage.reserve, RESERVE),
        _read(storage.max_image_size, MAX_IMAGE_BYTES),
        _read(storage.image_cache_size, cache),
    )


def _read(quantity: Quantity | None, default: int) -> int:
    return quantity.value() if quantity is not None else default
