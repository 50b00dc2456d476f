"""Memory of a domain and its backing: structs and their XML. Sizes are in bytes."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, format_numbers

_SLOTS = 1


class Memory(Struct, frozen=True, kw_only=True):
    """Guest memory."""

    size: int
    maximum: int | None = None
    """Maximum size for memory hotplug; None without hotplug."""


class HugePages(Struct, frozen=True):
    """Huge pages of one size, for all or some of the guest's NUMA cells."""

    size: int
    cells: tuple[int, ...] = ()


class MemoryBacking(Struct, frozen=True, kw_only=True):
    """Backing of the guest's memory."""

    hugepages: tuple[HugePages, ...] = ()
    memfd: bool = False
    shared: bool = False
    """Whether other processes can map the memory."""
    locked: bool = False
    """Whether the memory is locked in RAM."""
    immediate: bool = False
    """Whether all memory is allocated before the guest starts."""
    unmerged: bool = False
    """Whether page merging (KSM) is disabled."""


def render_memory(domain: Element, memory: Memory) -> None:
    """Append the XML element `memory` and, if there is a maximum, `maxMemory`."""
    if memory.maximum is not None:
        add(domain, "maxMemory", {"slots": _SLOTS, "unit": "b"}, text=memory.maximum)
    add(domain, "memory", {"unit": "b"}, text=memory.size)


def render_backing(domain: Element, backing: MemoryBacking) -> None:
    """Append the XML element `memoryBacking`."""
    element = add(domain, "memoryBacking")
    if backing.hugepages:
        pages = add(element, "hugepages")
        for some in backing.hugepages:
            add(pages, "page", {"size": some.size, "unit": "b", "nodeset": format_numbers(some.cells) or None})
    if backing.unmerged:
        add(element, "nosharepages")
    if backing.locked:
        add(element, "locked")
    if backing.memfd:
        add(element, "source", {"type": "memfd"})
    if backing.shared:
        add(element, "access", {"mode": "shared"})
    if backing.immediate:
        add(element, "allocation", {"mode": "immediate"})
