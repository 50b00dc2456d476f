"""
Guest memory: what an instance type gives, and how overcommitting it lowers the request.

Pure: no I/O, no clock, no logging.
"""

import struct
from collections.abc import Mapping
from contextlib import suppress

from virtshape.api.instancetype.v1beta2 import MemoryInstancetype
from virtshape.api.kubevirt.domain import DomainSpec, Memory, ResourceRequirements
from virtshape.api.quantity import Quantity
from virtshape.engine.conflict import VALUE_REQUIRED, Conflict


def check_memory(domain: DomainSpec, given: MemoryInstancetype | None) -> list[str]:
    """The fields of the VM that say what its instance type says."""
    if given is None:
        return []
    memory, resources = domain.memory, domain.resources
    clashes = []
    if memory is not None:
        if memory.guest is not None and given.guest is not None:
            clashes.append("domain.memory.guest")
        if memory.hugepages is not None and given.hugepages is not None:
            clashes.append("domain.memory.hugepages")
        if memory.max_guest is not None and given.max_guest is not None:
            clashes.append("domain.memory.maxGuest")
    if resources is not None and given.guest is not None:
        if resources.requests and "memory" in resources.requests:
            clashes.append("domain.resources.requests.memory")
        if resources.limits and "memory" in resources.limits:
            clashes.append("domain.resources.limits.memory")
    return clashes


def check_memory_given(domain: DomainSpec, root: str, given: MemoryInstancetype | None) -> Conflict | None:
    """Whether anybody says how much memory the guest has: the instance type, or else the VM itself."""
    if given is not None and given.guest is not None:
        return None
    field = f"{root}.domain.memory.guest"
    guest = domain.memory.guest if domain.memory else None
    if guest is not None:
        return None if guest.amount > 0 else Conflict((field,), f"{field} '{guest}': must be greater than 0")
    if default_memory(domain) is not None:
        return None
    message = f"no memory: set {field} in the VM, or choose an instance type that sets spec.memory.guest"
    return Conflict((field,), message, VALUE_REQUIRED)


def apply_memory(domain: DomainSpec, given: MemoryInstancetype | None) -> None:
    """Write what the instance type gives."""
    if given is None:
        return
    memory = domain.memory = domain.memory or Memory()
    if given.guest is not None:
        memory.guest = given.guest
    if given.hugepages is not None:
        memory.hugepages = given.hugepages
    if given.max_guest is not None:
        memory.max_guest = given.max_guest
    percent = given.overcommit_percent or 0
    if percent > 0 and memory.guest is not None:
        requests = domain.resources.requests if domain.resources else None
        if requests is None or "memory" not in requests:  # beside a type without memory it is the VM's to choose
            put_request(domain, "memory", overcommit(memory.guest, percent))


def default_memory(domain: DomainSpec) -> Quantity | None:
    """The memory of a guest for which nobody chose it: what is requested, else the limit, else one huge page."""
    for amounts in (domain.resources.requests, domain.resources.limits) if domain.resources else ():
        amount = find_amount(amounts, "memory")
        if amount is not None:
            return amount
    if domain.memory is not None and domain.memory.hugepages is not None and domain.memory.hugepages.page_size:
        with suppress(ValueError):  # a page size that is none is refused elsewhere
            return Quantity(domain.memory.hugepages.page_size)
    return None


def find_amount(amounts: Mapping[str, Quantity] | None, resource: str) -> Quantity | None:
    """The amount of a resource, if there is one and it is not nought."""
    amount = amounts.get(resource) if amounts else None
    return None if amount is None or amount.is_zero() else amount


def put_request(domain: DomainSpec, resource: str, amount: Quantity) -> None:
    """Ask the node for an amount of a resource."""
    resources = domain.resources = domain.resources or ResourceRequirements()
    requests = resources.requests = resources.requests or {}
    requests[resource] = amount


def overcommit(guest: Quantity, percent: int) -> Quantity:
    """The memory to request for a guest when it is overcommitted; in 32-bit floats, as KubeVirt rounds."""
    share = _float32(1 - _float32(_float32(percent) / 100))
    return Quantity.of(int(_float32(_float32(guest.value()) * share)), guest.format)


def _float32(number: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
