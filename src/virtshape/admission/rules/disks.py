"""Validate disks, filesystems and their volumes: matching names, one target, supported options."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import (
    NOT_SUPPORTED,
    check_names,
    check_one_of,
    check_partners,
    check_serial,
    is_serial,
    list_members,
)
from virtshape.admission.rules.names import is_label
from virtshape.admission.rules.volumes import check_sources
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.devices import PCI_ADDRESS, BlockSize, CustomBlockSize, Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.volume import Volume
from virtshape.api.spelling import suggest

_TARGETS: Final = list_members(Disk, "disk", "cdrom", "lun")
BUSES: Final = ("virtio", "sata", "scsi", "usb")
CACHES: Final = ("none", "writethrough", "writeback")
IO_MODES: Final = ("native", "threads", "default")
ERROR_POLICIES: Final = ("stop", "ignore", "report", "enospace")
_MIN_BLOCK, _MAX_BLOCK = 512, 2 * 1024**2


def check_disks(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check the disks, filesystems and volumes of a guest; `root` is the field path of the guest's spec."""
    devices, volumes = spec.domain.devices, spec.volumes or ()
    disks, filesystems = devices.disks or (), devices.filesystems or ()
    if not (volumes or disks or filesystems):
        return
    at_volumes, at_disks = f"{root}.volumes", f"{root}.domain.devices.disks"
    known = yield from check_names("volume", volumes, at_volumes)
    yield from check_sources(volumes, at_volumes)
    yield from check_partners("disk", disks, at_disks, "volume", known)
    yield from check_names("disk", disks, at_disks)
    for index, disk in enumerate(disks):
        yield from _check_disk(disk, f"{at_disks}[{index}]")
    if filesystems:
        at_filesystems = f"{root}.domain.devices.filesystems"
        yield from check_names("filesystem", filesystems, at_filesystems)
        yield from check_partners("filesystem", filesystems, at_filesystems, "volume", known)


def _check_disk(disk: Disk, at: str) -> Iterator[FieldError]:
    targets = _TARGETS.list_values(disk)
    if len(targets) > 1:
        yield from check_one_of("disk", disk, _TARGETS, at, least=0)
    if disk.cache and disk.cache not in CACHES:
        message = f"{at}.cache has invalid value {disk.cache}, allowed are {', '.join(CACHES)}"
        yield FieldError(f"{at}.cache", message, rule="unsupported-value")
    if disk.io and disk.io not in IO_MODES:
        reason = f"Disk IO mode for {at} is not supported. Supported modes are: native, threads"
        yield FieldError(f"{at}.io", f"{reason}, not {disk.io}", NOT_SUPPORTED, rule="unsupported-value")
    if disk.error_policy and disk.error_policy not in ERROR_POLICIES:
        reason = f'{at}.errorPolicy has invalid value "{disk.error_policy}"'
        yield FieldError(
            f"{at}.errorPolicy", f"{reason}, allowed are {', '.join(ERROR_POLICIES)}", rule="unsupported-value"
        )
    for name, target in targets:
        if target.bus:
            yield from _check_bus(disk, name, target.bus, at)
    if disk.lun is not None and disk.lun.reservation and disk.lun.bus != "scsi":
        message = f"Persistent reservation requires a SCSI bus, but {disk.lun.bus or 'none'} was specified"
        yield FieldError(f"{at}.lun.bus", message, rule="impossible-combination")
    if disk.disk is not None and disk.disk.pci_address:
        yield from _check_pci_address(disk.disk.pci_address, disk.disk.bus, at)
    if disk.serial and not is_serial(disk.serial):
        yield from check_serial(disk.serial, f"{at}.serial", at)
    if disk.block_size is not None and disk.block_size.custom is not None:
        bus = targets[0][1].bus if targets else None
        yield from _check_block_size(disk.block_size, disk.block_size.custom, bus, f"{at}.blockSize")
    if disk.shareable and disk.cache not in (None, "", "none"):
        message = f"a sharable disk requires cache = none, found: {disk.cache}"
        yield FieldError(f"{at}.cache", message, rule="impossible-combination")


def _check_bus(disk: Disk, name: str, bus: str, at: str) -> Iterator[FieldError]:
    field = f"{at}.{name}.bus"
    if bus == "ide":
        yield FieldError(field, f"IDE bus is not supported: use one of {', '.join(BUSES)}", rule="unsupported-value")
    elif bus not in BUSES:
        reason = f"{at} is set with an unrecognized bus {bus}, must be one of: {', '.join(BUSES)}"
        yield FieldError(field, f"{reason}{suggest(bus, BUSES)}", rule="unsupported-value")
    if name == "cdrom" and bus == "virtio":
        message = "Bus type virtio is invalid for CD-ROM device: use sata or scsi"
        yield FieldError(field, message, rule="impossible-combination")
    if name == "disk" and bus == "sata" and disk.disk is not None and disk.disk.readonly:
        message = "sata hard-disks do not support read-only: use virtio or scsi"
        yield FieldError(field, message, rule="impossible-combination")
    if disk.dedicated_io_thread and bus != "virtio":
        message = f"IOThreads are not supported for disks on a {bus} bus: use virtio"
        yield FieldError(field, message, NOT_SUPPORTED, rule="impossible-combination")


def _check_pci_address(address: str, bus: str | None, at: str) -> Iterator[FieldError]:
    field = f"{at}.disk.pciAddress"
    if bus != "virtio":
        message = f"disk {at}.name - setting a PCI address is only possible with bus type virtio."
        yield FieldError(field, message, rule="impossible-combination")
    if not PCI_ADDRESS.fullmatch(address):
        message = f"disk {at}.name has malformed PCI address ({address}): write it as 0000:81:01.1"
        yield FieldError(field, message, rule="invalid-value")


def _check_block_size(size: BlockSize, custom: CustomBlockSize, bus: str | None, at: str) -> Iterator[FieldError]:
    if size.match_volume is not None and size.match_volume.enabled is not False:
        message = "Block size matching can't be enabled together with a custom value: keep one of them"
        yield FieldError(f"{at}.custom", message, rule="one-of")
    logical, physical, granularity = custom.logical or 0, custom.physical or 0, custom.discard_granularity
    for name, value in (("logical", logical), ("physical", physical)):
        reason = _find_block_fault(value)
        if reason:
            yield FieldError(f"{at}.custom.{name}", f"Provided size of {value} is {reason}", rule="invalid-value")
    if logical > physical:
        message = f"Logical size {logical} must be the same or less than the physical size of {physical}"
        yield FieldError(f"{at}.custom.logical", message, rule="impossible-combination")
    elif bus == "sata" and logical != _MIN_BLOCK:
        message = f"Logical size {logical} must be {_MIN_BLOCK} for SATA devices"
        yield FieldError(f"{at}.custom.logical", message, rule="impossible-combination")
    if granularity is not None and logical and granularity % logical:
        message = f"Discard granularity {granularity} must be multiples of logical size {logical}"
        yield FieldError(f"{at}.custom.discardGranularity", message, rule="impossible-combination")


def _find_block_fault(size: int) -> str:
    if size < _MIN_BLOCK:
        return f"less than the supported minimum size of {_MIN_BLOCK}"
    if size > _MAX_BLOCK:
        return f"greater than the supported maximum size of {_MAX_BLOCK}"
    return "not a power of 2" if size & (size - 1) else ""


def check_disk_volumes(disks: Sequence[Disk], volumes: Sequence[Volume], at: str) -> Iterator[FieldError]:
    """Check the names of disks, and that disks fit their volumes; `at` is the field path of the disks."""
    by_name = {volume.name: volume for volume in volumes}
    for index, disk in enumerate(disks):
        if not is_label(disk.name):
            reason = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"
            yield FieldError(
                f"{at}[{index}].name", f"{reason}, at most 63 characters, not {disk.name}", rule="invalid-name"
            )
        volume = by_name.get(disk.name)
        if volume is None:
            continue
        if disk.lun is not None and volume.persistent_volume_claim is None and volume.data_volume is None:
            message = f"{at}[{index}].lun can only be mapped to a DataVolume or PersistentVolumeClaim volume."
            yield FieldError(f"{at}[{index}].lun", message, rule="impossible-combination")
        if volume.downward_metrics is not None:
            yield from _check_metrics(disk, f"{at}[{index}]")


def _check_metrics(disk: Disk, at: str) -> Iterator[FieldError]:
    target = disk.disk
    if target is None:
        message = f"DownwardMetrics volume must be mapped to a disk, but disk is not set on {at}.disk."
        yield FieldError(f"{at}.disk", message, VALUE_REQUIRED, rule="impossible-combination")
    elif target.bus not in (None, "", "virtio"):
        message = f"DownwardMetrics volume must be mapped to virtio bus, but {at}.disk.bus is set to {target.bus}"
        yield FieldError(f"{at}.disk.bus", message, rule="impossible-combination")
