"""
Where storage keeps what in a data directory.

Only paths: nothing is made or looked at here. Names and keys become file names, so their form is checked first.
"""

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.controllers.storage.protocol import StorageError, Volume

PROVISIONER: Final = "virtshape.io/local"
"""The name by which storage classes ask for storage of this kind."""
IMAGE: Final = "disk.img"


_LONGEST_NAME: Final = 200
"""Bytes, which leaves space for what is put around a name while something is on its way."""
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")


def check_name(name: str) -> str:
    """Return a name or key that may become a file name; StorageError for any other."""
    if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
        raise StorageError(f"{name[:_LONGEST_NAME]!r} is not the name of a volume, a snapshot or an upload")
    return name


class Layout(Struct, frozen=True):
    """The places of one data directory."""

    directory: Path

    @property
    def volumes(self) -> Path:
        """All volumes, each under its name."""
        return self.directory / "volumes"

    def volume(self, name: str) -> Path:
        """The directory of a volume."""
        return self.volumes / check_name(name)

    def image(self, name: str) -> Path:
        """The disk image of a volume."""
        return self.volume(name) / IMAGE

    def locate(self, volume: Volume) -> Path:
        """What a volume is for those who use it: a directory, or the image that stands for a block device."""
        return self.image(volume.name) if volume.mode == "Block" else self.volume(volume.name)

    @property
    def scratch(self) -> Path:
        """What work under way needs, each under its key."""
        return self.directory / "scratch"

    def work(self, key: str) -> Path:
        """The directory of what the work of this key needs."""
        return self.scratch / check_name(key)

    def snapshot(self, name: str) -> Path:
        """The directory of a snapshot."""
        return self.directory / "snapshots" / check_name(name)

    def snapshot_content(self, name: str) -> Path:
        """What a snapshot is of, as a volume has it."""
        return self.snapshot(name) / "content"

    def upload(self, key: str) -> Path:
        """The file that is handed over for the work of this key; it appears there whole."""
        return self.uploads / check_name(key)

    @property
    def uploads(self) -> Path:
        """What is handed over, each file under the key of the work that it is for."""
        return self.directory / "uploads"

    @property
    def images(self) -> Path:
        """What was fetched from registries."""
        return self.directory / "images"
