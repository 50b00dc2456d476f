"""Paths of the storage in a data directory. Names and keys become file names, so their form is checked."""

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.controllers.storage.protocol import StorageError, Volume
from virtshape.launcher.layout import DISK_IMAGE

PROVISIONER: Final = "virtshape.io/local"
"""The provisioner in storage classes."""


_MAX_NAME_LENGTH: Final = 200
"""Maximum length in bytes, which leaves space for the prefixes and suffixes of temporary file names."""
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")


def validate_name(name: str) -> str:
    """Return the name or key if it may become a file name; raise StorageError otherwise."""
    if len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise StorageError(f"{name[:_MAX_NAME_LENGTH]!r} is not a valid name of a volume, snapshot or upload")
    return name


class Layout(Struct, frozen=True):
    """The paths of one data directory."""

    directory: Path

    @property
    def volumes(self) -> Path:
        """The directory of all volumes."""
        return self.directory / "volumes"

    def volume(self, name: str) -> Path:
        """Return the directory of a volume."""
        return self.volumes / validate_name(name)

    def image(self, name: str) -> Path:
        """Return the path of a volume's disk image."""
        return self.volume(name) / DISK_IMAGE

    def locate(self, volume: Volume) -> Path:
        """Return the path of a volume: the volume's directory, or its image for a block device."""
        return self.image(volume.name) if volume.mode == "Block" else self.volume(volume.name)

    @property
    def scratch(self) -> Path:
        """The directory of temporary files of all jobs."""
        return self.directory / "scratch"

    def work(self, key: str) -> Path:
        """Return the directory of a job's temporary files."""
        return self.scratch / validate_name(key)

    def snapshot(self, name: str) -> Path:
        """Return the directory of a snapshot."""
        return self.directory / "snapshots" / validate_name(name)

    def snapshot_content(self, name: str) -> Path:
        """Return the directory of a snapshot's copy of the volume."""
        return self.snapshot(name) / "content"

    def upload(self, key: str) -> Path:
        """Return the path of the uploaded file for a job; the file appears there when it is complete."""
        return self.uploads / validate_name(key)

    @property
    def uploads(self) -> Path:
        """The directory of uploaded files, named by job key."""
        return self.directory / "uploads"

    @property
    def images(self) -> Path:
        """The directory of images from registries."""
        return self.directory / "images"
