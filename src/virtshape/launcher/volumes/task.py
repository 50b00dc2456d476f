"""One volume to be made ready, and what is at hand for it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.launcher.volumes.errors import UnusableVolumeError


class Task(NamedTuple):
    """A volume of an instance, the raw material of all its volumes, and the directory that images are made in."""

    vmi: VirtualMachineInstance
    volume: Volume
    mounts: Mapping[str, str]
    directory: Path
    host_disk_roots: Sequence[str] = ()

    def find_mount(self) -> Path | None:
        """Where the volume's raw material lies, if it has any."""
        mount = self.mounts.get(self.volume.name)
        return Path(mount) if mount is not None else None

    def require_mount(self) -> Path:
        """Where the volume's raw material lies."""
        mount = self.find_mount()
        if mount is None or not mount.exists():
            raise UnusableVolumeError("what it is made of is not here")
        return mount.resolve()

    def name_image(self, suffix: str) -> Path:
        """Where the volume's own image lies; a volume's name can be the name of a file."""
        return self.directory / f"{self.volume.name}.{suffix}"
