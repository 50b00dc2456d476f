"""
How much space an import or upload may take: a bound for each, and a reserve that keeps the database writable.

The reserve counts the free space of the data directory's file system. It stops imports, uploads and copies while they
write; what guests write into volumes that they have already is not stopped.
"""

import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.api.quantity import Quantity
from virtshape.launcher.images.errors import NoSpaceError, TransferError
from virtshape.launcher.images.progress import Progress
from virtshape.standalone.config import ConfigurationError, read_configuration

MARGIN: Final = 64 << 20
"""How many bytes a file that fills a claim may have beyond the claim's size: headers, tables and padding."""
RESERVE: Final = 1 << 30
"""The free space that imports and uploads leave, unless the configuration says otherwise."""
LARGEST_IMAGE: Final = 100 << 30
"""The largest disk or file without a size of its own, unless the configuration says otherwise."""
UNSIZED_ARCHIVE: Final = "an archive needs a claim with a size: set spec.storage.resources.requests.storage"


class DiskSpace(Struct, frozen=True):
    """The space of one data directory, as it is configured now."""

    directory: Path
    reserve: int = RESERVE
    largest: int = LARGEST_IMAGE

    def find_free(self) -> int:
        """Return how many bytes may be written before the reserve is touched."""
        return max(0, shutil.disk_usage(self.directory).free - self.reserve)

    def check(self, wanted: int = 0) -> None:
        """Raise NoSpaceError if so many bytes more would touch the reserve."""
        free = shutil.disk_usage(self.directory).free
        if free - wanted < self.reserve:
            asked = f"{wanted} bytes are wanted, " if wanted else ""
            raise NoSpaceError(
                f"the disk is full: {asked}{free} bytes are free, and {self.reserve} are kept for the database "
                "(storage.reserve in config.yaml)"
            )

    def guard(self, progress: Progress) -> Progress:
        """Return a progress function that stops the work when the reserve is touched."""

        def report(done: int, total: int | None) -> None:
            self.check()
            progress(done, total)

        return report


def read_disk_space(directory: Path) -> DiskSpace:
    """Return the space of a data directory; TransferError if its configuration cannot be read."""
    try:
        storage = read_configuration(directory).storage
    except ConfigurationError as error:
        raise TransferError(str(error)) from error
    if storage is None:
        return DiskSpace(directory)
    return DiskSpace(directory, _read(storage.reserve, RESERVE), _read(storage.max_image_size, LARGEST_IMAGE))


def _read(quantity: Quantity | None, default: int) -> int:
    return quantity.value() if quantity is not None else default
