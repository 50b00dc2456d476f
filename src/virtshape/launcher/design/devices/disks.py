"""Design disks, CD-ROMs and LUNs from prepared images, and shared directories (virtiofs)."""

from collections.abc import Collection
from itertools import count
from typing import Final, Literal, NamedTuple

from virtshape.api.kubevirt import devices as api
from virtshape.api.kubevirt.volume import Volume, is_hotpluggable
from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.design.devices.iothreads import Threads
from virtshape.launcher.design.topology import lay_out_vcpus
from virtshape.launcher.domain.devices.address import DriveAddress, PciAddress, parse_pci_address
from virtshape.launcher.domain.devices.disk import BlockSizes, Disk, Filesystem, Source

_LUN_BUSES: Final = ("scsi", "virtio")
_THREADED_BUSES: Final = ("virtio", "scsi")
_USUAL = 512
_GRANULARITY = 10_000_000
"""First libvirt version that supports discard_granularity."""


class GuestDisk(NamedTuple):
    """How the guest sees a volume: device type, bus and whether it is read-only."""

    device: Literal["disk", "cdrom", "lun"]
    bus: str
    read_only: bool
    member: api.DiskTarget | api.CDRomTarget | api.LunTarget


def get_guest_disk(disk: api.Disk, architecture: str) -> GuestDisk:
    """Return the device type and bus of a disk; the default bus depends on the device type and the architecture."""
    if disk.cdrom is not None:
        bus = disk.cdrom.bus or ("sata" if architecture == "amd64" else "scsi")
        return GuestDisk("cdrom", bus, disk.cdrom.readonly is not False, disk.cdrom)
    if disk.lun is not None:
        return GuestDisk("lun", disk.lun.bus or "scsi", bool(disk.lun.readonly), disk.lun)
    target = disk.disk or api.DiskTarget()
    bus = target.bus or ("sata" if architecture == "amd64" else "virtio")
    return GuestDisk("disk", bus, bool(target.readonly), target)


def design_disks(context: DesignContext, threads: Threads) -> tuple[Disk, ...]:
    """Return the disks in the order of the spec; hotpluggable disks are last in the default boot order."""
    counts: dict[str, int] = {}
    drives = []
    later = {volume.name for volume in context.spec.volumes or () if is_hotpluggable(volume)}
    for index, disk in sorted(enumerate(context.devices.disks or ()), key=lambda one: one[1].name in later):
        guest_disk = get_guest_disk(disk, context.architecture)
        prefix = "vd" if guest_disk.bus == "virtio" else "sd"
        unit = counts[prefix] = counts.get(prefix, -1) + 1
        drives.append(_design_disk(context, disk, guest_disk, unit, threads, f"{DEVICES}.disks[{index}]"))
    return tuple(drives)


def design_hotplugged_disk(context: DesignContext, name: str, used_targets: Collection[str]) -> Disk:
    """Return the disk to attach to a running guest for a volume; `used_targets` are the device names in use."""
    disks = context.devices.disks or ()
    index, disk = next((index, disk) for index, disk in enumerate(disks) if disk.name == name)
    at = f"{DEVICES}.disks[{index}]"
    guest_disk = get_guest_disk(disk, context.architecture)
    if context.devices.disable_hotplug:
        context.refuse(f"{DEVICES}.disableHotplug", "hotplug is disabled: restart the VM")
    if disk.dedicated_io_thread:
        context.refuse(
            f"{at}.dedicatedIOThread", "the running guest has no dedicated I/O thread for this disk: restart the VM"
        )
    prefix = "vd" if guest_disk.bus == "virtio" else "sd"
    unit = next(unit for unit in count() if name_target(prefix, unit) not in used_targets)
    return _design_disk(context, disk, guest_disk, unit, Threads(), at)


def _design_disk(
    context: DesignContext, disk: api.Disk, guest_disk: GuestDisk, unit: int, threads: Threads, at: str
) -> Disk:
    source = _find_source(context, disk, guest_disk, at)
    cache = _choose_cache(context, disk, source, at)
    virtio = guest_disk.bus == "virtio"
    _refuse_unsupported(context, disk, guest_disk, source, at)
    return Disk(
        name=disk.name,
        device=guest_disk.device,
        source=source,
        target=name_target("vd" if virtio else "sd", unit),
        bus=guest_disk.bus,
        model=context.virtio if virtio else None,
        tray=guest_disk.member.tray if isinstance(guest_disk.member, api.CDRomTarget) else None,
        read_only=guest_disk.read_only or (source is not None and source.read_only),
        shareable=bool(disk.shareable),
        serial=disk.serial or None,
        boot_order=disk.boot_order,
        address=_choose_address(guest_disk, unit),
        cache=cache,
        io=_choose_io(context, disk, source, cache, at),
        error_policy=disk.error_policy or "stop",
        discard=guest_disk.device != "cdrom" and (source is None or not source.preallocated),
        queues=lay_out_vcpus(context.spec.domain).vcpus if virtio and context.devices.block_multi_queue else None,
        io_thread=threads.assign(disk) if virtio else None,
        iommu=virtio and context.iommu,
        block_sizes=design_block_sizes(context, disk, source, at),
        reservations=_find_reservations(context, guest_disk, at),
    )


def name_target(prefix: str, unit: int) -> str:
    """
    Return the device name of the disk with this index, as Linux names disks.

    >>> [name_target("vd", unit) for unit in (0, 25, 26, 702)]
    ['vda', 'vdz', 'vdaa', 'vdaaa']
    """
    letters = ""
    while unit >= 0:
        letters = chr(ord("a") + unit % 26) + letters
        unit = unit // 26 - 1
    return prefix + letters


def _find_source(context: DesignContext, disk: api.Disk, guest_disk: GuestDisk, at: str) -> Source | None:
    source = context.sources.get(disk.name)
    if source is not None:
        return source
    for index, volume in enumerate(context.spec.volumes or ()):
        if volume.name != disk.name:
            continue
        member, reason = _explain_missing_image(context, volume)
        context.refuse(f"spec.volumes[{index}]{member}", reason)
        return None
    if guest_disk.device != "cdrom":  # a CD-ROM without a volume is empty
        context.refuse(f"{at}.name", f"there is no volume {disk.name!r}")
    return None


def _explain_missing_image(context: DesignContext, volume: Volume) -> tuple[str, str]:
    """Return the unsupported member of a volume, if any, and the reason why the volume has no image."""
    if volume.downward_metrics is not None and not context.host.downward_metrics:
        return ".downwardMetrics", "downward metrics are not supported on this host"
    if volume.memory_dump is not None:
        return ".memoryDump", "memory dumps are not supported on this host"
    if volume.container_path is not None:
        return ".containerPath", "a directory cannot be a disk"
    return "", f"there is no image for the volume {volume.name!r}"


def _choose_cache(context: DesignContext, disk: api.Disk, source: Source | None, at: str) -> str | None:
    """Return the requested cache mode; by default `none` for shared disks and for direct I/O, else `writethrough`."""
    if source is None:
        return disk.cache or None
    wanted = disk.cache or ("none" if disk.shareable else None)
    if wanted == "none" and not source.direct_io:
        field, advice = ("cache", "use writethrough") if disk.cache else ("shareable", "a shared disk needs it")
        context.refuse(f"{at}.{field}", f"the storage of the volume {disk.name!r} has no direct I/O: {advice}")
    return wanted or ("none" if source.direct_io else "writethrough")


def _choose_io(context: DesignContext, disk: api.Disk, source: Source | None, cache: str | None, at: str) -> str | None:
    if disk.io == "native" and cache != "none":
        context.refuse(f"{at}.io", "io native requires cache none: set cache to none, or remove io")
    if disk.io:
        return None if disk.io == "default" else disk.io
    ready = source is not None and (source.kind == "block" or source.preallocated)
    return "native" if ready and cache == "none" else None


def _choose_address(guest_disk: GuestDisk, unit: int) -> PciAddress | DriveAddress | None:
    if guest_disk.bus == "scsi":
        return DriveAddress(unit=unit)
    if isinstance(guest_disk.member, api.DiskTarget) and guest_disk.member.pci_address:
        return parse_pci_address(guest_disk.member.pci_address)
    return None


def _find_reservations(context: DesignContext, guest_disk: GuestDisk, at: str) -> str | None:
    if not isinstance(guest_disk.member, api.LunTarget) or not guest_disk.member.reservation:
        return None
    if context.host.reservations is None:
        context.refuse(f"{at}.lun.reservation", "no SCSI reservation helper is running on this host")
    return context.host.reservations


def _refuse_unsupported(
    context: DesignContext, disk: api.Disk, guest_disk: GuestDisk, source: Source | None, at: str
) -> None:
    if guest_disk.device == "lun":
        if guest_disk.bus not in _LUN_BUSES:
            context.refuse(f"{at}.lun.bus", f"a LUN cannot use the bus {guest_disk.bus}: use {' or '.join(_LUN_BUSES)}")
        if source is not None and source.kind != "block":
            context.refuse(f"{at}.lun", f"the volume {disk.name!r} is a file, and a LUN needs a block device")
        if disk.serial:
            context.refuse(f"{at}.serial", "is not supported for LUNs, which have the serial number of their storage")
    elif (
        guest_disk.device == "disk"
        and guest_disk.bus == "sata"
        and (guest_disk.read_only or (source is not None and source.read_only))
    ):
        context.refuse(f"{at}.disk.bus", "a sata disk cannot be write-protected: use virtio or scsi")
    if disk.dedicated_io_thread and guest_disk.bus not in _THREADED_BUSES:
        context.refuse(
            f"{at}.dedicatedIOThread", f"I/O threads are not supported on the bus {guest_disk.bus}: use virtio"
        )
    if disk.changed_block_tracking:
        context.refuse(f"{at}.changedBlockTracking", "changed block tracking is not supported on this host")


def design_block_sizes(context: DesignContext, disk: api.Disk, source: Source | None, at: str) -> BlockSizes | None:
    """Return the custom block sizes or those of the storage, as requested; None if neither is requested."""
    asked = disk.block_size
    if asked is None:
        return None
    if asked.custom is not None:
        return _take_custom(context, asked.custom, f"{at}.blockSize.custom")
    if source is None or asked.match_volume is None or asked.match_volume.enabled is False:
        return None
    granularity = source.discard_granularity if context.host.libvirt >= _GRANULARITY else None
    return BlockSizes(source.logical_block_size, source.physical_block_size, granularity)


def _take_custom(context: DesignContext, custom: api.CustomBlockSize, at: str) -> BlockSizes:
    if custom.discard_granularity is not None and context.host.libvirt < _GRANULARITY:
        context.refuse(f"{at}.discardGranularity", "needs libvirt 10")
    logical = custom.logical or _USUAL
    return BlockSizes(logical, custom.physical or logical, custom.discard_granularity)


def design_filesystems(context: DesignContext) -> tuple[Filesystem, ...]:
    """Return the requested filesystems; refuse all filesystems if the host has no virtiofs."""
    shared = []
    for index, filesystem in enumerate(context.devices.filesystems or ()):
        if not context.host.virtiofs:
            reason = "virtiofs is not supported on this host: use a disk"
            context.refuse(f"{DEVICES}.filesystems[{index}].virtiofs", reason)
        shared.append(Filesystem(filesystem.name, context.locate(f"{filesystem.name}.virtiofs.sock"), context.iommu))
    return tuple(shared)
