"""Design the memory of a guest and its backing."""

from typing import Final

from virtshape.api.hotpluglimits import get_hotplug_limits
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.kubevirt.domain import Memory as AskedMemory
from virtshape.api.quantity import Quantity
from virtshape.launcher.design.context import MEMFD_ANNOTATION, DesignContext, find_annotation
from virtshape.launcher.domain.memory import HugePages, Memory, MemoryBacking

_MEMORY: Final = "spec.domain.memory"
_USUAL_PAGE: Final = Quantity("2Mi")


def find_memory(domain: DomainSpec) -> Quantity | None:
    """Return the initial guest memory, by default the memory request or else the limit; None if nothing is set."""
    memory, resources = domain.memory, domain.resources
    if memory is not None and memory.guest is not None:
        return memory.guest
    for amounts in (resources.requests, resources.limits) if resources is not None else ():
        if amounts and "memory" in amounts:
            return amounts["memory"]
    return None


def design_memory(context: DesignContext) -> Memory:
    """Return the guest's memory and its maximum."""
    domain = context.spec.domain
    given, most = find_memory(domain), get_hotplug_limits(context.vmi).memory
    if given is None:
        context.refuse(f"{_MEMORY}.guest", "is required")
    size = given.value() if given is not None else 0
    if most is None or most.value() == size:
        return Memory(size=size)
    if most.value() < size:
        if domain.memory is None or domain.memory.max_guest is None:
            return Memory(size=size)
        context.refuse(f"{_MEMORY}.maxGuest", f"is less than the {given} that the guest starts with")
        return Memory(size=size)
    return Memory(size=size, maximum=most.value())


def design_backing(context: DesignContext, size: int, *, shared: bool) -> MemoryBacking | None:
    """Return the backing of the guest's memory (huge pages, locking, sharing); None for ordinary memory."""
    memory = context.spec.domain.memory or AskedMemory()
    pages = _design_pages(context, memory, size)
    backing = MemoryBacking(
        hugepages=pages,
        memfd=shared or (bool(pages) and find_annotation(context, MEMFD_ANNOTATION) != "false"),
        shared=shared,
        locked=_design_lock(context, memory),
    )
    return backing if backing != MemoryBacking() else None


def find_page_size(memory: AskedMemory) -> int | None:
    """Return the huge page size in bytes, or None if no huge pages are requested."""
    if memory.hugepages is None:
        return None
    return _read_page_size(memory.hugepages.page_size).value()


def _read_page_size(text: str | None) -> Quantity:
    try:
        return Quantity(text) if text else _USUAL_PAGE
    except ValueError:
        return Quantity("0")


def _design_pages(context: DesignContext, memory: AskedMemory, size: int) -> tuple[HugePages, ...]:
    if memory.hugepages is None:
        return ()
    field, page = f"{_MEMORY}.hugepages.pageSize", _read_page_size(memory.hugepages.page_size)
    there = {Quantity(known).value(): count for known, count in context.host.hugepages.items() if count}
    count = there.get(page.value(), 0)
    if not count:
        known = ", ".join(known for known, count in context.host.hugepages.items() if count) or "none"
        context.refuse(field, f"this host has no huge pages of {memory.hugepages.page_size or page}; it has: {known}")
    elif size % page.value():
        context.refuse(field, f"the guest's memory is not a multiple of {page}")
    elif size // page.value() > count:
        context.refuse(field, f"the guest needs {size // page.value()} huge pages of {page}; this host has {count}")
    return (HugePages(page.value()),)


def _design_lock(context: DesignContext, memory: AskedMemory) -> bool:
    reserved, field = memory.reserved_overhead, f"{_MEMORY}.reservedOverhead.memLock"
    wanted = (reserved.mem_lock if reserved is not None else None) or "NotRequired"
    if wanted not in ("Required", "NotRequired"):
        context.refuse(field, f"unsupported value {wanted}: use Required or NotRequired")
    elif wanted == "Required" and not context.host.locked_memory:
        context.refuse(field, "locked memory is not permitted on this host")
    return wanted == "Required"
