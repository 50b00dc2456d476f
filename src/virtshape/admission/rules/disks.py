"""
Disks, filesystems and the volumes behind them: each has one of its name, and is one thing.

Pure: yields violations.
"""

import re
from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_names, check_one_of, check_partners, check_value, list_members
from virtshape.admission.rules.volumes import check_sources
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.devices import BlockSize, Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.volume import Volume

LONGEST_SERIAL: Final = 256
PCI_ADDRESS: Final = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_SERIAL: Final = re.compile(r"[A-Za-z0-9_.+-]+")
_TARGETS: Final = list_members(Disk, "disk", "cdrom", "lun")
_BUSES: Final = ("virtio", "sata", "scsi", "usb")
_CACHES: Final = ("none", "writethrough", "writeback")
_IO_MODES: Final = ("native", "threads", "default")
_ERROR_POLICIES: Final = ("stop", "ignore", "report", "enospace")
_LEAST_BLOCK, _MOST_BLOCK = 512, 2 * 1024**2


def check_disks(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[Violation]:
    """Whether disks, filesystems and volumes belong together."""
    devices, volumes = spec.domain.devices, spec.volumes or ()
    disks, filesystems = devices.disks or (), devices.filesystems or ()
    if not (volumes or disks or filesystems):
        return
    at_volumes, at_disks = f"{root}.volumes", f"{root}.domain.devices.disks"
    known = yield from check_names("volume", volumes, at_volumes)
    yield from check_sources(volumes, at_volumes)
    yield from check_partners("disk", disks, at_disks, "volume", known)
    yield from check_names("disk", disks, at_disks)
    by_name = {volume.name: volume for volume in volumes}
    for index, disk in enumerate(disks):
        yield from _check_disk(disk, by_name.get(disk.name), f"{at_disks}[{index}]")
    if filesystems:
        at_filesystems = f"{root}.domain.devices.filesystems"
        yield from check_names("filesystem", filesystems, at_filesystems)
        yield from check_partners("filesystem", filesystems, at_filesystems, "volume", known)


def _check_disk(disk: Disk, volume: Volume | None, at: str) -> Iterator[Violation]:
    targets = _TARGETS.list_values(disk)
    if len(targets) > 1:
        yield from check_one_of("disk", disk, _TARGETS, at, least=0)
    yield from check_value(at, "cache", disk.cache, _CACHES)
    yield from check_value(at, "io", disk.io, _IO_MODES)
    yield from check_value(at, "errorPolicy", disk.error_policy, _ERROR_POLICIES)
    for name, target in targets:
        if target.bus not in _BUSES:
            yield from check_value(at, f"{name}.bus", target.bus, _BUSES)
    yield from _check_target(disk, volume, at)
    if disk.serial:
        yield from _check_serial(disk.serial, f"{at}.serial")
    if disk.block_size is not None:
        yield from _check_block_size(disk.block_size, f"{at}.blockSize")
    if disk.shareable and disk.cache not in (None, "", "none"):
        message = f"a sharable disk requires cache = none, found: {disk.cache}"
        yield Violation("impossible-combination", f"{at}.cache", message)


def _check_target(disk: Disk, volume: Volume | None, at: str) -> Iterator[Violation]:
    if disk.cdrom is not None and disk.cdrom.bus == "virtio":
        message = "Bus type virtio is invalid for CD-ROM device: use sata or scsi"
        yield Violation("impossible-combination", f"{at}.cdrom.bus", message)
    if disk.disk is not None:
        if disk.disk.readonly and disk.disk.bus == "sata":
            message = f"{at}.disk: sata disks must not be readonly: use virtio or scsi"
            yield Violation("impossible-combination", f"{at}.disk.readonly", message)
        if disk.disk.pci_address:
            yield from _check_pci_address(disk.disk.pci_address, disk.disk.bus, f"{at}.disk.pciAddress")
        if disk.dedicated_io_thread and disk.disk.bus not in (None, "", "virtio"):
            message = f"IOThreads are not supported for disks on a {disk.disk.bus} bus"
            yield Violation("impossible-combination", f"{at}.disk.bus", message)
    if disk.lun is not None and disk.lun.reservation:
        if disk.lun.bus != "scsi":
            message = f"{at}.lun.reservation is only supported with scsi bus"
            yield Violation("impossible-combination", f"{at}.lun.reservation", message)
        if volume is not None and volume.persistent_volume_claim is None and volume.data_volume is None:
            message = f"{at}.lun.reservation needs a persistentVolumeClaim or dataVolume as its volume"
            yield Violation("impossible-combination", f"{at}.lun.reservation", message)


def _check_pci_address(address: str, bus: str | None, field: str) -> Iterator[Violation]:
    if bus != "virtio":
        message = f"{field} is only allowed with disk bus 'virtio'"
        yield Violation("impossible-combination", field, message)
    if not PCI_ADDRESS.fullmatch(address):
        yield Violation("invalid-value", field, f"disk has malformed PCI address ({address}): write it as 0000:81:01.1")


def _check_serial(serial: str, field: str) -> Iterator[Violation]:
    if len(serial) > LONGEST_SERIAL:
        message = f"{field} must be less than or equal to {LONGEST_SERIAL} in length, if specified"
        yield Violation("invalid-value", field, message)
    if not _SERIAL.fullmatch(serial):
        message = f"{field} must be made up of the following characters [A-Za-z0-9_.+-], if specified"
        yield Violation("invalid-value", field, message)


def _check_block_size(size: BlockSize, at: str) -> Iterator[Violation]:
    custom = size.custom
    if custom is None:
        return
    if size.match_volume is not None and size.match_volume.enabled is not False:
        message = f"{at}: Block size matching can't be enabled together with a custom value"
        yield Violation("one-of", f"{at}.custom", message)
    logical, physical = custom.logical or 0, custom.physical or 0
    for name, value in (("logical", logical), ("physical", physical)):
        if not _LEAST_BLOCK <= value <= _MOST_BLOCK or value & (value - 1):
            message = f"Provided size of {value} is not supported. It must be a power of 2 between 512 and 2Mi"
            yield Violation("invalid-value", f"{at}.custom.{name}", message)
    if logical > physical:
        message = f"Logical size {logical} must be the same or less than the physical size of {physical}"
        yield Violation("impossible-combination", f"{at}.custom.logical", message)
