"""
Prepare all volumes of an instance as images that QEMU can open.

Preparation blocks while images are read and written. If it is repeated in the same directory, overlays and empty disks
keep their data. Existing files outside of the directory are never changed.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.volume import Volume
from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.images.atomic import remove_leftovers
from virtshape.launcher.images.errors import ImageError
from virtshape.launcher.report import Refusal
from virtshape.launcher.volumes.cloudinit import prepare_config_drive, prepare_no_cloud
from virtshape.launcher.volumes.files import (
    prepare_config_map,
    prepare_downward_api,
    prepare_secret,
    prepare_service_account,
    prepare_sysprep,
)
from virtshape.launcher.volumes.hostdisk import prepare_host_disk
from virtshape.launcher.volumes.overlay import (
    prepare_claim,
    prepare_container_disk,
    prepare_empty_disk,
    prepare_ephemeral,
)
from virtshape.launcher.volumes.task import Task, UnusableVolumeError, VolumeError

DIRECTORY: Final = "volumes"
"""Name of the directory for images in a guest's directory."""
KINDS: Final[Mapping[str, tuple[str, Callable[[Task], Source]]]] = {
    "container_disk": ("containerDisk", prepare_container_disk),
    "persistent_volume_claim": ("persistentVolumeClaim", prepare_claim),
    "data_volume": ("dataVolume", prepare_claim),
    "ephemeral": ("ephemeral", prepare_ephemeral),
    "empty_disk": ("emptyDisk", prepare_empty_disk),
    "host_disk": ("hostDisk", prepare_host_disk),
    "cloud_init_no_cloud": ("cloudInitNoCloud", prepare_no_cloud),
    "cloud_init_config_drive": ("cloudInitConfigDrive", prepare_config_drive),
    "sysprep": ("sysprep", prepare_sysprep),
    "config_map": ("configMap", prepare_config_map),
    "secret": ("secret", prepare_secret),
    "service_account": ("serviceAccount", prepare_service_account),
    "downward_api": ("downwardAPI", prepare_downward_api),
}
"""The field in the API and the function that prepares the volume, by kind of volume."""
# Not prepared: containerPath is a shared directory, the guest does not see memoryDump, and downwardMetrics must be
# updated continuously.

_log = logging.getLogger(__name__)
MOUNT: Final = "kernelBoot"
"""Name of the mount with the files of the kernel's container image; no volume can have this name."""


def prepare_volumes(
    vmi: VirtualMachineInstance, mounts: Mapping[str, str], directory: str, *, host_disk_roots: Sequence[str] = ()
) -> dict[str, Source]:
    """
    Return the image of each volume that a disk or the firmware needs, by the volume's name.

    `mounts` are the paths of the volumes' contents. Raise VolumeError with all problems, if there are any.
    """
    place = Path(directory) / DIRECTORY
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_leftovers(place)
    sources: dict[str, Source] = {}
    problems: list[Refusal] = []
    needed = _list_needed(vmi)
    for index, volume in enumerate(vmi.spec.volumes or ()):
        kind = _find_kind(volume)
        if volume.name not in needed or kind is None:
            _log.debug("volume %s needs no image", volume.name)
            continue
        field, prepare = kind
        try:
            sources[volume.name] = prepare(Task(vmi, volume, mounts, place, host_disk_roots))
        except (UnusableVolumeError, ImageError, OSError) as error:
            problems.append(_build_refusal(f"spec.volumes[{index}].{field}", error))
    if problems:
        raise VolumeError(problems)
    return sources | prepare_kernel(vmi, mounts)


def prepare_volume(
    vmi: VirtualMachineInstance, mounts: Mapping[str, str], directory: str, name: str
) -> dict[str, Source]:
    """Map the volume's name to its image; return an empty dict if it has no image, raise VolumeError on failure."""
    index, volume = next((index, one) for index, one in enumerate(vmi.spec.volumes or ()) if one.name == name)
    kind = _find_kind(volume)
    if kind is None:
        return {}
    field, prepare = kind
    try:
        return {name: prepare(Task(vmi, volume, mounts, Path(directory) / DIRECTORY))}
    except (UnusableVolumeError, ImageError, OSError) as error:
        raise VolumeError([_build_refusal(f"spec.volumes[{index}].{field}", error)]) from error


def _list_needed(vmi: VirtualMachineInstance) -> set[str | None]:
    """Return the names of volumes that need an image; shared directories do not."""
    firmware = vmi.spec.domain.firmware
    acpi = firmware.acpi if firmware is not None else None
    tables = {acpi.msdm_name_ref, acpi.slic_name_ref} if acpi is not None else set()
    return tables | {disk.name for disk in vmi.spec.domain.devices.disks or ()}


def _find_kind(volume: Volume) -> tuple[str, Callable[[Task], Source]] | None:
    return next((kind for member, kind in KINDS.items() if getattr(volume, member) is not None), None)


def _build_refusal(field: str, error: Exception) -> Refusal:
    if isinstance(error, UnusableVolumeError):
        return Refusal(f"{field}.{error.member}" if error.member else field, error.reason)
    if isinstance(error, OSError) and error.strerror:
        return Refusal(field, f"{error.strerror}: {error.filename}" if error.filename else error.strerror)
    return Refusal(field, str(error))


def prepare_kernel(vmi: VirtualMachineInstance, mounts: Mapping[str, str]) -> dict[str, Source]:
    """Return the kernel and the initrd, if they exist, by the keys `kernelBoot/kernel` and `kernelBoot/initrd`."""
    firmware = vmi.spec.domain.firmware
    boot = firmware.kernel_boot if firmware is not None else None
    if boot is None or boot.container is None or MOUNT not in mounts:
        return {}
    root = Path(mounts[MOUNT]).resolve()
    wanted = {"kernel": boot.container.kernel_path, "initrd": boot.container.initrd_path}
    found = {name: (root / path.lstrip("/")).resolve() for name, path in wanted.items() if path}
    return {
        f"{MOUNT}/{name}": Source(path=str(path), read_only=True)
        for name, path in found.items()
        if path.is_relative_to(root) and path.is_file()
    }
