"""
A disk image that is ready for a guest.

Plain facts: where it lies and how it is to be read.
"""

from typing import Literal

from msgspec import Struct


class Source(Struct, frozen=True, kw_only=True):
    """What stands behind one disk, cdrom or lun of a guest."""

    path: str
    format: Literal["raw", "qcow2"] = "raw"
    kind: Literal["file", "block"] = "file"
    read_only: bool = False
    direct_io: bool = False
    """Whether it can be read and written past the host's page cache."""
    preallocated: bool = False
    """Whether all its blocks are there already."""
    logical_block_size: int = 512
    """Bytes; what `matchVolume` tells the guest, as the next two."""
    physical_block_size: int = 512
    discard_granularity: int | None = None
