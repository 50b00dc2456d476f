"""
The preparation of one volume: its inputs and its errors.

    ImageError
    └── VolumeError             all problems of an instance's volumes

Within this package, UnusableVolumeError reports the problem of one volume.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.launcher.images.errors import ImageError
from virtshape.launcher.report import Refusal


class Task(NamedTuple):
    """A volume of an instance, the mounts of all its volumes, and the directory for images."""

    vmi: VirtualMachineInstance
    volume: Volume
    mounts: Mapping[str, str]
    directory: Path
    host_disk_roots: Sequence[str] = ()

    def find_mount(self) -> Path | None:
        """Return the mount of the volume, or None."""
        mount = self.mounts.get(self.volume.name)
        return Path(mount) if mount is not None else None

    def require_mount(self) -> Path:
        """Return the mount of the volume; raise UnusableVolumeError if the mount is missing."""
        mount = self.find_mount()
        if mount is None or not mount.exists():
            raise UnusableVolumeError("its content is missing")
        return mount.resolve()

    def name_image(self, suffix: str) -> Path:
        """Return the path of the volume's image; a volume name is a valid file name."""
        return self.directory / f"{self.volume.name}.{suffix}"


class VolumeError(ImageError):
    """Volumes could not be prepared; `problems` contains the field and the reason for each volume."""

    def __init__(self, problems: Sequence[Refusal]) -> None:
        super().__init__("; ".join(f"{problem.field}: {problem.reason}" for problem in problems))
        self.problems = tuple(problems)


class UnusableVolumeError(Exception):
    """A volume could not be prepared; `member` is the field of its source that is invalid, if any."""

    def __init__(self, reason: str, member: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.member = member
