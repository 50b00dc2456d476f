"""
Guest memory: what an instance type gives, and how overcommitting it lowers the request.

Pure: no I/O, no clock, no logging.
"""

import struct

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
    """Whether anybody says how much memory the guest has, beside an instance type that may not."""
    if (given is not None and given.guest is not None) or names_memory(domain):
        return None
    field = f"{root}.domain.memory.guest"
    message = f"no memory: set {field} in the VM, or choose an instance type that sets spec.memory.guest"
    return Conflict((field,), message, VALUE_REQUIRED)


def names_memory(domain: DomainSpec) -> bool:
    """Whether the VM itself says how much memory it wants."""
    memory, resources = domain.memory, domain.resources
    if memory is not None and (memory.guest is not None or memory.hugepages is not None):
        return True
    return resources is not None and ("memory" in (resources.requests or ()) or "memory" in (resources.limits or ()))


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
        put_request(domain, "memory", overcommit(memory.guest, percent))


def put_request(domain: DomainSpec, resource: str, amount: Quantity) -> None:
    """Ask the node for an amount of a resource."""
    resources = domain.resources = domain.resources or ResourceRequirements()
    resources.requests = {**(resources.requests or {}), resource: amount}


def overcommit(guest: Quantity, percent: int) -> Quantity:
    """The memory to request for a guest when it is overcommitted; in 32-bit floats, as KubeVirt rounds."""
    share = _float32(1 - _float32(_float32(percent) / 100))
    return Quantity.of(int(_float32(_float32(guest.value()) * share)), guest.format)


def _float32(number: float) -> float:
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return float(rounded)
