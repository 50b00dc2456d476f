"""
Memory and what stands behind it, as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.memory import Memory, MemoryBacking
from virtshape.launcher.render.writing import add, format_numbers

_SLOTS = 1


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
