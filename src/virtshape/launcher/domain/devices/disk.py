"""
Disks, cdroms and LUNs of a domain.

Structs only.
"""

from typing import Literal

from msgspec import Struct

from virtshape.launcher.domain.devices.address import DriveAddress, PciAddress
from virtshape.launcher.source import Source


class BlockSizes(Struct, frozen=True):
    """What a disk tells its guest about its blocks, in bytes."""

    logical: int
    physical: int
    discard_granularity: int | None = None


class Disk(Struct, frozen=True, kw_only=True):
    """One drive of the guest."""

    name: str
    """The volume behind it."""
    device: Literal["disk", "cdrom", "lun"] = "disk"
    source: Source | None = None
    """None for a cdrom with nothing in it."""
    target: str
    """Such as `vda`: orders the drives of a bus."""
    bus: str
    model: str | None = None
    """Which generations of virtio it speaks, on that bus."""
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
    """Whether blocks that the guest frees are freed on the host."""
    queues: int | None = None
    io_thread: int | None = None
    iommu: bool = False
    block_sizes: BlockSizes | None = None
    reservations: str | None = None
    """Socket of the helper that makes SCSI reservations for it."""
