"""Host disks: disk images on the host, referenced by path, below directories that the administrator allows."""

import os
from collections.abc import Sequence
from pathlib import Path

from virtshape.api.kubevirt.volume import HostDisk
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.images.atomic import replace_file
from virtshape.launcher.images.inspection import round_up
from virtshape.launcher.volumes.storage import BLOCK, describe_image
from virtshape.launcher.volumes.task import Task, UnusableVolumeError


def prepare_host_disk(task: Task) -> Source:
    """Return the host disk that was mounted for the guest; without a mount, find or create the disk."""
    found = task.find_mount()
    if found is None and task.volume.host_disk is not None:
        found = ensure_host_disk(task.volume.host_disk, task.host_disk_roots)
    if found is None:
        raise UnusableVolumeError("hostDisk is missing")
    return describe_image(found)


def ensure_host_disk(wanted: HostDisk, roots: Sequence[str]) -> Path:
    """Return the file of a host disk, which must be below an allowed root; create it for the type DiskOrCreate."""
    if wanted.type not in {"Disk", "DiskOrCreate"}:
        raise UnusableVolumeError("must be Disk or DiskOrCreate", "type")
    path = require_allowed(wanted.path, roots)
    if not path.exists():
        if wanted.type == "Disk":
            raise UnusableVolumeError(f"file {wanted.path} does not exist", "path")
        _create(path, wanted.capacity.value() if wanted.capacity is not None else 0)
    if not path.is_file():
        raise UnusableVolumeError(f"{wanted.path} is not a file", "path")
    return path


def require_allowed(path: str, roots: Sequence[str]) -> Path:
    """Return the real path of a file; raise UnusableVolumeError unless the path is below one of the roots."""
    if not roots:
        raise UnusableVolumeError("this host allows no host disks: no directory is configured for them")
    real = Path(os.path.realpath(path))
    if not path.startswith("/") or not any(real.is_relative_to(os.path.realpath(root)) for root in roots):
        allowed = ", ".join(roots)
        raise UnusableVolumeError(f"{path} is not in a directory that this host allows: {allowed}", "path")
    return real


def _create(path: Path, capacity: int) -> None:
    size = round_up(capacity, BLOCK)
    if size <= 0:
        raise UnusableVolumeError("a new disk needs a capacity above zero", "capacity")
    if not path.parent.is_dir():
        raise UnusableVolumeError(f"directory {path.parent} does not exist", "path")
    free = os.statvfs(path.parent)
    if size > free.f_bavail * free.f_frsize:
        raise UnusableVolumeError(f"{path.parent} has less than {size} bytes of free space", "capacity")
    with replace_file(path) as partial:
        partial.touch(0o600)
        os.truncate(partial, size)
