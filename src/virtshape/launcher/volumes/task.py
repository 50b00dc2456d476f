"""The preparation of one volume and its inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.launcher.volumes.errors import UnusableVolumeError


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
        """Return the mount of the volume; raise UnusableVolumeError if it is missing."""
        mount = self.find_mount()
        if mount is None or not mount.exists():
            raise UnusableVolumeError("its content is missing")
        return mount.resolve()

    def name_image(self, suffix: str) -> Path:
        """Return the path of the volume's image; a volume name is a valid file name."""
        return self.directory / f"{self.volume.name}.{suffix}"
