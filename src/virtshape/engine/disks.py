"""Disks: a default disk for each volume without one, and the preferred bus, cache, I/O mode and block size."""

from virtshape.api.instancetype.preference import DevicePreferences
from virtshape.api.kubevirt.devices import Devices, Disk, DiskTarget
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec


def apply_default_disks(spec: VirtualMachineInstanceSpec) -> None:
    """Add a disk for each volume that no disk or filesystem references."""
    if not spec.volumes:
        return
    devices = spec.domain.devices
    disks = devices.disks = devices.disks or []
    named = {disk.name for disk in disks}
    if devices.filesystems:
        named.update(filesystem.name for filesystem in devices.filesystems)
    for volume in spec.volumes:
        if volume.name not in named:
            disks.append(Disk(name=volume.name))


def apply_disk_preferences(devices: Devices, preferred: DevicePreferences) -> None:
    """Fill in preferred values for unset disk fields; a disk without `disk`, `cdrom` or `lun` gets a `disk`."""
    for disk in devices.disks or ():
        if disk.disk is None and disk.cdrom is None and disk.lun is None:
            disk.disk = DiskTarget()
        target = disk.disk
        if target is not None:
            _apply_to_disk(disk, target, preferred)
        elif disk.cdrom is not None:
            disk.cdrom.bus = disk.cdrom.bus or preferred.preferred_cdrom_bus
        elif disk.lun is not None:
            disk.lun.bus = disk.lun.bus or preferred.preferred_lun_bus


def _apply_to_disk(disk: Disk, target: DiskTarget, preferred: DevicePreferences) -> None:
    if preferred.preferred_disk_bus and not target.bus:
        target.bus = preferred.preferred_disk_bus
    if preferred.preferred_disk_cache and not disk.cache:
        disk.cache = preferred.preferred_disk_cache
    if preferred.preferred_disk_io and not disk.io:
        disk.io = preferred.preferred_disk_io
    if preferred.preferred_disk_block_size is not None and disk.block_size is None:
        disk.block_size = preferred.preferred_disk_block_size
    if disk.dedicated_io_thread is None and target.bus == "virtio":
        disk.dedicated_io_thread = preferred.preferred_disk_dedicated_io_thread
