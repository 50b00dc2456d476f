"""
Memory of a guest that is all there: no more than its limit, no less than its request, in whole pages.

Pure: yields violations.
"""

from collections.abc import Iterator
from decimal import Decimal

from virtshape.admission.rules.cpu import check_amounts
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.domain import DomainSpec, Hugepages, Memory
from virtshape.api.quantity import Quantity


def check_guest_memory(domain: DomainSpec, at: str) -> Iterator[Violation]:
    """Whether the memory can be had as it is asked for; `at` is where the domain stands."""
    resources = domain.resources
    requested = (resources.requests or {}).get("memory") if resources else None
    limit = (resources.limits or {}).get("memory") if resources else None
    yield from check_amounts("memory", requested, limit, f"{at}.resources")
    memory = domain.memory
    if memory is None:
        return
    guest = memory.guest
    if guest is not None and limit is not None and guest.amount > limit.amount > 0:
        words = f"must be equal to or less than the memory limit {at}.resources.limits.memory '{limit}'"
        yield Violation("impossible-combination", f"{at}.memory.guest", f"{at}.memory.guest '{guest}' {words}")
    if guest is not None and requested is not None and guest.amount < requested.amount:
        words = f"must be equal to or larger than the requested memory {at}.resources.requests.memory '{requested}'"
        yield Violation("impossible-combination", f"{at}.memory.guest", f"{at}.memory.guest '{guest}' {words}")
    if memory.max_guest is not None and guest is not None and memory.max_guest.amount < guest.amount:
        field = f"{at}.memory.maxGuest"
        message = f"{field} '{memory.max_guest}' must be equal to or larger than the guest's memory '{guest}'"
        yield Violation("impossible-combination", field, message)
    if memory.hugepages is not None:
        yield from _check_pages(memory, memory.hugepages, requested, f"{at}.memory.hugepages.pageSize")


def _check_pages(memory: Memory, pages: Hugepages, requested: Quantity | None, field: str) -> Iterator[Violation]:
    try:
        size = Quantity(pages.page_size or "")
    except ValueError:
        yield Violation("invalid-value", field, f"{field} '{pages.page_size}': is no amount of memory, such as 2Mi")
        return
    if size.amount <= 0:
        yield Violation("invalid-value", field, f"{field} '{size}': must be greater than 0")
        return
    given = memory.guest if memory.guest is not None else requested
    if given is None:
        return
    if size.amount > given.amount:
        message = f"{field} '{size}' must be equal to or less than requested memory '{given}'"
        yield Violation("impossible-combination", field, message)
    elif given.amount % size.amount != Decimal(0):
        message = f"{given} of memory is not a multiple of the page size {field} '{size}'"
        yield Violation("impossible-combination", field, message)
