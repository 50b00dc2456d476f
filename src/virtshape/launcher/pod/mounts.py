"""Find the mounts and devices of a launcher pod; create the disk image in an empty claim."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.launcherpod import CREDENTIALS_SUFFIX, DEVICES, KERNEL, MOUNTS
from virtshape.launcher.layout import DISK_IMAGE

ACCOUNT_DIRECTORY: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DISKS: Final = "disk"
FILE_SYSTEM_OVERHEAD: Final = 0.055
"""Fraction of a claim that is reserved for file system overhead, as in CDI."""
BLOCK: Final = 4096
_CLAIMS: Final = ("persistent_volume_claim", "data_volume")
_PREFIXES: Final = ("PCI_RESOURCE_", "MDEV_PCI_RESOURCE_", "USB_RESOURCE_")


def find_mounts(
    vmi: VirtualMachineInstance, root: Path = Path(MOUNTS), devices: str = DEVICES, account: Path = ACCOUNT_DIRECTORY
) -> dict[str, str]:
    """Return the paths of mounts by name: those of the volumes, of the kernel image, and of credentials."""
    mounts = {}
    for volume in vmi.spec.volumes or ():
        found = account if volume.service_account is not None else _find(volume, root, devices)
        if found is not None and found.exists():
            mounts[volume.name] = str(found)
    for extra in root.iterdir() if root.exists() else ():
        if extra.name == KERNEL or extra.name.endswith(CREDENTIALS_SUFFIX):
            mounts[extra.name] = str(extra)
    return mounts


def list_host_disk_roots(vmi: VirtualMachineInstance) -> tuple[str, ...]:
    """Return the node directories that are mounted for host disks."""
    paths = [volume.host_disk.path for volume in vmi.spec.volumes or () if volume.host_disk is not None]
    return tuple(dict.fromkeys(str(Path(path).parent) for path in paths))


def read_devices(vmi: VirtualMachineInstance, environment: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the addresses of assigned devices by resource name, from the device plugins' environment variables."""
    requested = [*(vmi.spec.domain.devices.gpus or ()), *(vmi.spec.domain.devices.host_devices or ())]
    found: dict[str, tuple[str, ...]] = {}
    for resource in dict.fromkeys(device.device_name for device in requested if device.device_name):
        suffix = re.sub(r"[^A-Z0-9]", "_", resource.upper())
        values = [environment.get(f"{prefix}{suffix}", "") for prefix in _PREFIXES]
        found[resource] = tuple(one for text in values for one in text.split(",") if one)
    return found


def _find(volume: Volume, root: Path, devices: str) -> Path | None:
    device = Path(f"{devices}{volume.name}")
    if device.exists():
        return device
    directory = root / volume.name
    if volume.container_disk is not None:
        return _find_in_image(directory, volume.container_disk.path or "")
    if any(getattr(volume, kind) is not None for kind in _CLAIMS) and directory.is_dir():
        _ensure_image(directory)
    return directory


def _find_in_image(directory: Path, path: str) -> Path | None:
    """Return the disk in a container image: the named file, or the only one in /disk."""
    if path:
        found = (directory / path.lstrip("/")).resolve()
        return found if found.is_relative_to(directory.resolve()) else None
    files = [one for one in sorted((directory / DISKS).glob("*")) if one.is_file() and not one.is_symlink()]
    return files[0] if len(files) == 1 else None


def _ensure_image(directory: Path) -> None:
    """Create a disk image in an empty claim, as large as the claim allows."""
    if any(one.name != "lost+found" for one in directory.iterdir()) or not os.access(directory, os.W_OK):
        return
    room = os.statvfs(directory)
    size = int(room.f_bavail * room.f_frsize * (1 - FILE_SYSTEM_OVERHEAD)) // BLOCK * BLOCK
    with (directory / DISK_IMAGE).open("xb") as file:
        file.truncate(size)
