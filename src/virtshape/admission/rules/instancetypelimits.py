"""Validate the sizing policy of an instance type: `spec.cpu.limits` and `spec.memory.limits`."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.v1beta2 import (
    CPUInstancetype,
    CPULimits,
    MemoryInstancetype,
    MemoryLimits,
    MemoryPerVCPU,
    VirtualMachineInstancetypeSpec,
)
from virtshape.api.quantity import Quantity
from virtshape.engine.memory import is_open
from virtshape.engine.sizingpolicy import find_page_size, has_limits, read_policy
from virtshape.engine.topology import count_vcpus

_CPU: Final = "spec.cpu.limits"
_MEMORY: Final = "spec.memory.limits"
_ANY: Final = Quantity("1")


def check_sizing_policy(spec: VirtualMachineInstancetypeSpec) -> list[FieldError]:
    """Return all problems in the sizing policy: invalid limits, or valid limits that no size meets."""
    if not has_limits(spec):
        return []
    problems = [*_check_cpu(spec.cpu), *_check_memory(spec.memory)]
    return problems or list(_check_some_size_is_allowed(spec))


def _check_cpu(cpu: CPUInstancetype | None) -> Iterator[FieldError]:
    limits = cpu.limits if cpu else None
    if cpu is None or limits is None:
        return
    if count_vcpus(cpu):
        size = "guest" if cpu.topology is None else "topology"
        yield _exclude(_CPU, f"spec.cpu.{size}")
    for name in ("min", "max", "step"):
        if getattr(limits, name) == 0:
            yield FieldError(f"{_CPU}.{name}", f"{_CPU}.{name} must be 1 or more")
    yield from _check_order(limits, _CPU)


def _check_memory(memory: MemoryInstancetype | None) -> Iterator[FieldError]:
    limits = memory.limits if memory else None
    if memory is None or limits is None:
        return
    if not is_open(memory):
        yield _exclude(_MEMORY, "spec.memory.guest")
    yield from _check_quantities(limits, _MEMORY, ("min", "max", "step"))
    pages = find_page_size(memory)
    if pages is not None:
        yield from _check_multiples(limits, pages)
    if limits.per_vcpu is not None:
        yield from _check_quantities(limits.per_vcpu, f"{_MEMORY}.perVCPU", ("min", "max"))


def _check_multiples(limits: MemoryLimits, pages: Quantity) -> Iterator[FieldError]:
    for name, size in (("min", limits.min), ("step", limits.step)):
        if size is not None and size.value() % pages.value():
            field = f"{_MEMORY}.{name}"
            message = f"{field} '{size}': must be a multiple of the page size spec.memory.hugepages.pageSize '{pages}'"
            yield FieldError(field, message)


def _check_quantities(limits: MemoryLimits | MemoryPerVCPU, at: str, names: tuple[str, ...]) -> Iterator[FieldError]:
    for name in names:
        size: Quantity | None = getattr(limits, name)
        if size is not None and size.amount <= 0:
            yield FieldError(f"{at}.{name}", f"{at}.{name} '{size}': must be greater than 0")
    yield from _check_order(limits, at)


def _check_order(limits: CPULimits | MemoryLimits | MemoryPerVCPU, at: str) -> Iterator[FieldError]:
    least, most = limits.min, limits.max
    if least is not None and most is not None and _to_number(least) > _to_number(most):
        yield FieldError(f"{at}.min", f"{at}.min '{least}': must not be greater than {at}.max '{most}'")


def _to_number(limit: int | Quantity) -> Decimal:
    return limit.amount if isinstance(limit, Quantity) else Decimal(limit)


def _check_some_size_is_allowed(spec: VirtualMachineInstancetypeSpec) -> Iterator[FieldError]:
    policy = read_policy(spec)
    if not policy.vcpus:
        yield FieldError(f"{_CPU}.max", f"{_CPU} allows no number of vCPUs: the smallest is greater than max")
    if not policy.memory:
        yield FieldError(f"{_MEMORY}.max", f"{_MEMORY} allows no memory size: the smallest is greater than max")
    if policy.vcpus and policy.memory and policy.find_size(1, _ANY) is None:
        field = f"{_MEMORY}.perVCPU"
        yield FieldError(field, f"{field}: no memory size that {_MEMORY} allows suits any allowed number of vCPUs")


def _exclude(limits: str, size: str) -> FieldError:
    message = f"{limits} and {size} are mutually exclusive: limits are for VMs that set the size themselves"
    return FieldError(limits, message)
