"""
Controllers of a domain: what disks, ports and serial lines hang on.

Structs only.
"""

from typing import Literal

from msgspec import Struct


class Controller(Struct, frozen=True, kw_only=True):
    """One controller of the guest."""

    kind: Literal["pci", "scsi", "usb", "virtio-serial"]
    model: str
    index: int = 0
    queues: int | None = None
    io_thread: int | None = None
    iommu: bool = False
