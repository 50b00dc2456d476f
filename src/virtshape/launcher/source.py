"""A prepared disk image: its path and format."""

from typing import Literal

from msgspec import Struct


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
    """Bytes; reported to the guest with `matchVolume`, like the next two."""
    physical_block_size: int = 512
    discard_granularity: int | None = None
