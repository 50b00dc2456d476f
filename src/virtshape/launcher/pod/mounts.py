"""
Find the mounts and devices of a launcher pod, check access to them, and create disk images in empty claims.

The size of an image follows from its claim, because several claims may share one file system.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.launcherpod import CREDENTIALS_SUFFIX, DEMO_DISK, DEVICES, KERNEL, MOUNTS, is_demo_image
from virtshape.launcher.layout import DISK_IMAGE
from virtshape.launcher.report import Refusal
from virtshape.launcher.volumes.task import UnusableVolumeError, VolumeError

ACCOUNT_DIRECTORY: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
DISKS: Final = "disk"
FILE_SYSTEM_OVERHEAD: Final = 0.055
"""Fraction of a claim that is reserved for file system overhead, as in CDI."""
BLOCK: Final = 4096
_PREFIXES: Final = ("PCI_RESOURCE_", "MDEV_PCI_RESOURCE_", "USB_RESOURCE_")


def find_mounts(
    vmi: VirtualMachineInstance,
    claim_sizes: Mapping[str, int] = MappingProxyType({}),
    root: Path = Path(MOUNTS),
    devices: str = DEVICES,
    account: Path = ACCOUNT_DIRECTORY,
    demo: Path = Path(DEMO_DISK),
) -> dict[str, str]:
    """
    Return the paths of mounts by name (volumes, kernel image, credentials); create images in empty claims.

    Raise VolumeError with all claims that the guest cannot use.
    """
    mounts = {}
    problems = []
    for index, volume in enumerate(vmi.spec.volumes or ()):
        try:
            found = account if volume.service_account is not None else _find(volume, claim_sizes, root, devices, demo)
        except UnusableVolumeError as error:
            problems.append(Refusal(f"spec.volumes[{index}]", error.reason))
            continue
        if found is not None and found.exists():
            mounts[volume.name] = str(found)
    if problems:
        raise VolumeError(problems)
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


def _find(volume: Volume, claim_sizes: Mapping[str, int], root: Path, devices: str, demo: Path) -> Path | None:
    device = Path(f"{devices}{volume.name}")
    if device.exists():
        _require_device_access(device, volume)
        return device
    directory = root / volume.name
    if volume.container_disk is not None and is_demo_image(volume.container_disk.image):
        return _get_demo_disk(demo)
    if volume.container_disk is not None:
        return _find_in_image(directory, volume.container_disk.path or "")
    is_claim = volume.persistent_volume_claim is not None or volume.data_volume is not None
    if is_claim and directory.is_dir():
        _ensure_image(directory, volume, claim_sizes.get(volume.name))
    return directory


def _get_demo_disk(path: Path) -> Path:
    if not path.exists():
        raise UnusableVolumeError(f"the launcher image does not contain the demo guest: {path} does not exist")
    return path


def _is_read_only(volume: Volume) -> bool:
    claim = volume.persistent_volume_claim
    return volume.ephemeral is not None or bool(claim is not None and claim.read_only)


def _has_access(path: Path, volume: Volume) -> bool:
    return os.access(path, os.R_OK if _is_read_only(volume) else os.R_OK | os.W_OK)


def _require_device_access(device: Path, volume: Volume) -> None:
    """Raise UnusableVolumeError if the launcher's user may not open the block device of a claim."""
    if not _has_access(device, volume):
        raise UnusableVolumeError(
            f"user {os.getuid()} has no permission to open the block device of this claim: set "
            "device_ownership_from_security_context = true in the configuration of the node's container runtime "
            "(containerd or CRI-O), restart it, and start the VM again"
        )


def _find_in_image(directory: Path, path: str) -> Path | None:
    """Return the disk in a container image: the file at the given path, or the only file in /disk."""
    if path:
        found = (directory / path.lstrip("/")).resolve()
        return found if found.is_relative_to(directory.resolve()) else None
    files = [one for one in sorted((directory / DISKS).glob("*")) if one.is_file() and not one.is_symlink()]
    return files[0] if len(files) == 1 else None


def _ensure_image(directory: Path, volume: Volume, claim_size: int | None) -> None:
    """Create a disk image in an empty claim; raise UnusableVolumeError if the guest cannot use the claim's image."""
    owner = f"user {os.getuid()} (group {os.getgid()})"
    try:
        names = {one.name for one in directory.iterdir()} - {"lost+found"}
    except PermissionError:
        raise UnusableVolumeError(f"{owner} has no permission to read this claim") from None
    image = directory / DISK_IMAGE
    if names:
        if image.is_file() and not _has_access(image, volume):
            raise UnusableVolumeError(f"{owner} has no permission to open {DISK_IMAGE} in this claim")
        return
    if _is_read_only(volume):
        raise UnusableVolumeError(f"this claim is empty and read-only, so no {DISK_IMAGE} can be created in it")
    if not os.access(directory, os.W_OK):
        raise UnusableVolumeError(
            f"this claim is empty, and {owner} has no permission to create {DISK_IMAGE} in it: make its root "
            f"directory writable for group {os.getgid()}, because this kind of volume does not support fsGroup"
        )
    size = compute_image_size(claim_size, directory)
    with image.open("xb") as file:
        file.truncate(size)


def compute_image_size(claim_size: int | None, directory: Path) -> int:
    """Return the size of an image in a claim: the lesser of claim size and free space, minus a reserve."""
    if claim_size is None:
        raise UnusableVolumeError(f"this claim is empty, and its size is unknown, so no {DISK_IMAGE} is created in it")
    room = os.statvfs(directory)
    size = int(min(claim_size, room.f_bavail * room.f_frsize) * (1 - FILE_SYSTEM_OVERHEAD)) // BLOCK * BLOCK
    if size <= 0:
        raise UnusableVolumeError(f"this claim has no room for a {DISK_IMAGE}")
    return size
