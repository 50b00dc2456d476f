"""Disks, CD-ROMs, LUNs and shared directories (virtiofs) of a domain: structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import (
    DriveAddress,
    PciAddress,
    add_address,
    add_alias,
    add_boot_order,
    add_driver,
)
from virtshape.launcher.domain.xml import add


class Source(Struct, frozen=True, kw_only=True):
    """The image of a disk, CD-ROM or LUN."""

    path: str
    format: Literal["raw", "qcow2"] = "raw"
    kind: Literal["file", "block"] = "file"
    read_only: bool = False
    direct_io: bool = False
    """Whether the storage supports direct I/O."""
    preallocated: bool = False
    """Whether all blocks are allocated."""
    logical_block_size: int = 512
    """Logical block size in bytes. With `matchVolume`, the guest sees all three block sizes of the storage."""
    physical_block_size: int = 512
    discard_granularity: int | None = None


class BlockSizes(Struct, frozen=True):
    """Block sizes that a disk reports to the guest, in bytes."""

    logical: int
    physical: int
    discard_granularity: int | None = None


class Disk(Struct, frozen=True, kw_only=True):
    """A disk, CD-ROM or LUN."""

    name: str
    """Name of the disk's volume."""
    device: Literal["disk", "cdrom", "lun"] = "disk"
    source: Source | None = None
    """The image; None for an empty CD-ROM."""
    target: str
    """Device name such as `vda`; determines the order on a bus."""
    bus: str
    model: str | None = None
    """The virtio model (transitional or not); set only on the virtio bus."""
    tray: str | None = None
    read_only: bool = False
    shareable: bool = False
    serial: str | None = None
    boot_order: int | None = None
    address: PciAddress | DriveAddress | None = None
    cache: str | None = None
    io: str | None = None
    error_policy: str | None = None
    discard: bool = False
    """Whether discarded blocks are freed on the host."""
    queues: int | None = None
    io_thread: int | None = None
    iommu: bool = False
    block_sizes: BlockSizes | None = None
    reservations: str | None = None
    """Socket of the SCSI persistent reservation helper."""


def render_disk(parent: Element, disk: Disk) -> None:
    """Append the XML element for a disk."""
    kind = disk.source.kind if disk.source else "file"
    element = add(parent, "disk", {"type": kind, "device": disk.device, "model": disk.model})
    _add_driver(element, disk)
    _add_source(element, disk)
    add(element, "target", {"dev": disk.target, "bus": disk.bus, "tray": disk.tray})
    if disk.block_sizes is not None:
        sizes = {
            "logical_block_size": disk.block_sizes.logical,
            "physical_block_size": disk.block_sizes.physical,
            "discard_granularity": disk.block_sizes.discard_granularity,
        }
        add(element, "blockio", sizes)
    if disk.read_only:
        add(element, "readonly")
    if disk.shareable:
        add(element, "shareable")
    if disk.serial is not None:
        add(element, "serial", text=disk.serial)
    add_boot_order(element, disk.boot_order)
    add_alias(element, disk.name)
    add_address(element, disk.address)


def _add_driver(element: Element, disk: Disk) -> None:
    driver = {
        "name": "qemu",
        "type": disk.source.format if disk.source else "raw",
        "cache": disk.cache,
        "error_policy": disk.error_policy,
        "io": disk.io,
        "discard": "unmap" if disk.discard else None,
        "iothread": disk.io_thread,
        "queues": disk.queues,
    }
    add_driver(element, driver, iommu=disk.iommu)


def _add_source(element: Element, disk: Disk) -> None:
    if disk.source is None:
        return
    source = add(element, "source", {"dev" if disk.source.kind == "block" else "file": disk.source.path})
    if disk.reservations is not None:
        reservations = add(source, "reservations", {"managed": "no"})
        add(reservations, "source", {"type": "unix", "path": disk.reservations, "mode": "client"})


class Filesystem(Struct, frozen=True):
    """A directory that is shared with the guest through virtiofs."""

    name: str
    """Name of the volume, which is also the mount tag in the guest."""
    socket: str
    """Socket of the virtiofs daemon."""
    iommu: bool = False


def render_filesystem(parent: Element, filesystem: Filesystem) -> None:
    """Append the XML element for a shared directory."""
    element = add(parent, "filesystem", {"type": "mount"})
    add_driver(element, {"type": "virtiofs", "queue": 1024}, iommu=filesystem.iommu)
    add(element, "source", {"socket": filesystem.socket})
    add(element, "target", {"dir": filesystem.name})
