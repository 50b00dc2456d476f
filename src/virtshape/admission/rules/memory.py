"""Validate the memory of an expanded guest: minimum, limits, huge pages, hotplug."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from virtshape.admission.rules.cpu import check_amounts
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import DomainSpec, Hugepages, ResourceRequirements
from virtshape.api.quantity import Quantity
from virtshape.engine.hotplug import check_memory_hotplug

_MIN_MEMORY: Final = Decimal(10**6)


def check_guest_memory(domain: DomainSpec, at: str) -> Iterator[FieldError]:
    """Check the guest's memory, and its memory request and limit; `at` is the field path of the domain."""
    resources, memory = domain.resources, domain.memory
    guest = memory.guest if memory is not None else None
    if resources is not None and (resources.requests or resources.limits):
        yield from _check_shares(resources, guest, at)
    if guest is not None and 0 < guest.amount < _MIN_MEMORY:
        field = f"{at}.memory.guest"
        yield FieldError(field, f"{field} '{guest}': must be greater than or equal to 1M.", rule="invalid-value")
    if memory is not None and memory.max_guest is not None:
        yield from check_memory_hotplug(domain, memory, memory.max_guest, at)
    if memory is not None and memory.hugepages is not None:
        field, given = f"{at}.memory.guest", guest
        if given is None and resources is not None:
            field, given = f"{at}.resources.requests.memory", (resources.requests or {}).get("memory")
        yield from _check_pages(memory.hugepages, f"{at}.memory.hugepages.pageSize", given, field)


def _check_shares(resources: ResourceRequirements, guest: Quantity | None, at: str) -> Iterator[FieldError]:
    requested, limit = (resources.requests or {}).get("memory"), (resources.limits or {}).get("memory")
    yield from check_amounts("memory", requested, limit, f"{at}.resources")
    if requested is not None and 0 < requested.amount < _MIN_MEMORY:
        field = f"{at}.resources.requests.memory"
        yield FieldError(field, f"{field} '{requested}': must be greater than or equal to 1M.", rule="invalid-value")
    if guest is not None and limit is not None and guest.amount > limit.amount > 0:
        reason = f"must be equal to or less than the memory limit {at}.resources.limits.memory '{limit}'"
        yield FieldError(f"{at}.memory.guest", f"{at}.memory.guest '{guest}' {reason}", rule="impossible-combination")


def _check_pages(pages: Hugepages, at_size: str, given: Quantity | None, at_given: str) -> Iterator[FieldError]:
    try:
        size = Quantity(pages.page_size or "")
    except ValueError:
        message = f"{at_size} '{pages.page_size}': must be a quantity such as 2Mi"
        yield FieldError(at_size, message, rule="invalid-value")
        return
    if size.amount <= 0:
        yield FieldError(at_size, f"{at_size} '{size}': must be greater than 0", rule="invalid-value")
    elif given is None:
        return
    elif given.amount < size.amount:
        message = f"{at_given} '{given}' must be equal to or larger than page size {at_size} '{size}'"
        yield FieldError(at_size, message, rule="impossible-combination")
    elif given.value() % size.value():
        message = f"{at_given} '{given}' is not a multiple of the page size {at_size} '{size}'"
        yield FieldError(at_size, message, rule="impossible-combination")
