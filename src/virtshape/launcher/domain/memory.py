"""Memory of a domain and its backing: structs and their XML. Sizes are in bytes."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import add, format_numbers

_SLOTS = 1


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


def render_memory(domain: Element, memory: Memory) -> None:
    """Append the elements `maxMemory` and `memory`."""
    if memory.maximum is not None:
        add(domain, "maxMemory", {"slots": _SLOTS, "unit": "b"}, text=memory.maximum)
    add(domain, "memory", {"unit": "b"}, text=memory.size)


def render_backing(domain: Element, backing: MemoryBacking) -> None:
    """Append the element `memoryBacking`."""
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
