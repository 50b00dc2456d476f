"""
The memory of a domain, and what stands behind it on the machine.

Structs only; sizes are in bytes.
"""

from msgspec import Struct


class Memory(Struct, frozen=True, kw_only=True):
    """How much memory the guest sees."""

    size: int
    maximum: int | None = None
    """How far it can grow while the guest runs; not at all when absent."""


class HugePages(Struct, frozen=True):
    """Pages of one size, for all of the guest's NUMA nodes or for some."""

    size: int
    cells: tuple[int, ...] = ()


class MemoryBacking(Struct, frozen=True, kw_only=True):
    """What stands behind the guest's memory."""

    hugepages: tuple[HugePages, ...] = ()
    memfd: bool = False
    shared: bool = False
    """Whether other programs can see it."""
    locked: bool = False
    """Whether it is kept from being paged out."""
    immediate: bool = False
    """Whether all of it is taken before the guest starts."""
    unmerged: bool = False
    """Whether equal pages of several guests are kept apart."""
