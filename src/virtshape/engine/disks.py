"""
Disks: one for each volume that has none, and what a preference says of bus, cache and the like.

Pure: no I/O, no clock, no logging.
"""

from virtshape.api.instancetype.preference import DevicePreferences
from virtshape.api.kubevirt.devices import Disk, DiskTarget
from virtshape.engine.draft import Draft


def apply_default_disks(draft: Draft) -> None:
    """Give each volume that no disk or filesystem names a disk of its own."""
    spec = draft.spec
    if not spec.volumes:
        return
    devices = spec.domain.devices
    named = {disk.name for disk in devices.disks or ()}
    named.update(filesystem.name for filesystem in devices.filesystems or ())
    for volume in spec.volumes:
        if volume.name not in named:
            draft.append(devices, "disks", Disk(name=volume.name))


def apply_disk_preferences(draft: Draft, preferred: DevicePreferences) -> None:
    """Fill in what the VM leaves open; a disk with no target becomes an ordinary one."""
    for disk in draft.spec.domain.devices.disks or ():
        if disk.disk is None and disk.cdrom is None and disk.lun is None:
            draft.put(disk, "disk", DiskTarget())
        if disk.disk is not None:
            _apply_to_disk(draft, disk, disk.disk, preferred)
        elif disk.cdrom is not None:
            draft.fill(disk.cdrom, "bus", preferred.preferred_cdrom_bus or None)
        elif disk.lun is not None:
            draft.fill(disk.lun, "bus", preferred.preferred_lun_bus or None)


def _apply_to_disk(draft: Draft, disk: Disk, target: DiskTarget, preferred: DevicePreferences) -> None:
    if not target.bus and preferred.preferred_disk_bus:
        draft.put(target, "bus", preferred.preferred_disk_bus)
    if not disk.cache and preferred.preferred_disk_cache:
        draft.put(disk, "cache", preferred.preferred_disk_cache)
    if not disk.io and preferred.preferred_disk_io:
        draft.put(disk, "io", preferred.preferred_disk_io)
    if disk.block_size is None and preferred.preferred_disk_block_size is not None:
        draft.put(disk, "block_size", preferred.preferred_disk_block_size)
    if target.bus == "virtio":
        draft.offer(disk, "dedicated_io_thread", preferred.preferred_disk_dedicated_io_thread)
