"""Guest memory: size, maximum, huge pages and overcommit from the instance type, and the default size."""

import struct
from collections.abc import Mapping
from contextlib import suppress

from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.instancetype.v1beta2 import MemoryInstancetype
from virtshape.api.kubevirt.domain import DomainSpec, Memory, ResourceRequirements
from virtshape.api.quantity import Quantity


def check_memory(domain: DomainSpec, given: MemoryInstancetype | None) -> list[str]:
    """Return the VM's memory fields that conflict with the instance type."""
    if given is None:
        return []
    memory, resources = domain.memory, domain.resources
    clashes = []
    if memory is not None:
        if memory.guest is not None and not is_open(given):
            clashes.append("domain.memory.guest")
        if memory.hugepages is not None and given.hugepages is not None:
            clashes.append("domain.memory.hugepages")
        if memory.max_guest is not None and given.max_guest is not None:
            clashes.append("domain.memory.maxGuest")
    if resources is not None and not is_open(given):
        if resources.requests and "memory" in resources.requests:
            clashes.append("domain.resources.requests.memory")
        if resources.limits and "memory" in resources.limits:
            clashes.append("domain.resources.limits.memory")
    return clashes


def is_open(given: MemoryInstancetype | None) -> bool:
    """Return True if the instance type leaves memory to the VM: the size is unset, or 0, which old clients write."""
    return given is None or given.guest is None or given.guest.is_zero()


def check_memory_given(domain: DomainSpec, root: str, given: MemoryInstancetype | None) -> FieldError | None:
    """Check that the instance type or the VM sets the guest's memory; the VM's `memory.guest` must be more than 0."""
    if given is not None and given.guest is not None:
        return None
    field = f"{root}.domain.memory.guest"
    guest = domain.memory.guest if domain.memory else None
    if guest is not None:
        return (
            None
            if guest.amount > 0
            else FieldError(field, f"{field} '{guest}': must be greater than 0", rule="no-memory")
        )
    if default_memory(domain) is not None:
        return None
    message = f"no memory: set {field} in the VM, or choose an instance type that sets spec.memory.guest"
    return FieldError(field, message, VALUE_REQUIRED, "no-memory")


def apply_memory(domain: DomainSpec, given: MemoryInstancetype | None) -> None:
    """Set the memory fields that the instance type sets, and the memory request that its overcommit results in."""
    if given is None:
        return
    memory = domain.memory = domain.memory or Memory()
    if not is_open(given) or (memory.guest is None and default_memory(domain) is None):
        memory.guest = given.guest  # as in KubeVirt, copy a size of 0 if nothing else sets memory
    if given.hugepages is not None:
        memory.hugepages = given.hugepages
    if given.max_guest is not None:
        memory.max_guest = given.max_guest
    percent = given.overcommit_percent or 0
    if percent > 0 and memory.guest is not None:
        requests = domain.resources.requests if domain.resources else None
        # If the instance type sets no memory, the VM may already set a request.
        if requests is None or "memory" not in requests:
            put_request(domain, "memory", overcommit(memory.guest, percent))


def default_memory(domain: DomainSpec) -> Quantity | None:
    """Return the memory of a guest that sets no size: the request, or else the limit, or one huge page, or None."""
    for amounts in (domain.resources.requests, domain.resources.limits) if domain.resources else ():
        amount = find_amount(amounts, "memory")
        if amount is not None:
            return amount
    if domain.memory is not None and domain.memory.hugepages is not None and domain.memory.hugepages.page_size:
        with suppress(ValueError):  # admission rejects invalid page sizes
            return Quantity(domain.memory.hugepages.page_size)
    return None


def find_amount(amounts: Mapping[str, Quantity] | None, resource: str) -> Quantity | None:
    """Return the amount of a resource, or None if it is absent or zero."""
    amount = amounts.get(resource) if amounts else None
    return None if amount is None or amount.is_zero() else amount


def put_request(domain: DomainSpec, resource: str, amount: Quantity) -> None:
    """Set the domain's request for a resource."""
    resources = domain.resources = domain.resources or ResourceRequirements()
    requests = resources.requests = resources.requests or {}
    requests[resource] = amount


def overcommit(guest: Quantity, percent: int) -> Quantity:
    """Return the memory request for an overcommitted guest, rounded with 32-bit floats as in KubeVirt."""
    share = _float32(1 - _float32(_float32(percent) / 100))
    return Quantity.of(int(_float32(_float32(guest.value()) * share)), guest.format)


def _float32(number: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
