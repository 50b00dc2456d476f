"""
Sizing policy: the vCPUs and memory that VMs may ask for where their instance type leaves the size open.

Allowed sizes are a range of vCPUs, and a range of bytes for each number of vCPUs. A size that the instance type sets is
a range of one value. The policy is checked at admission only: stored VMs still start.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.instancetype.v1beta2 import (
    CPULimits,
    MemoryInstancetype,
    MemoryLimits,
    MemoryPerVCPU,
    VirtualMachineInstancetypeSpec,
)
from virtshape.api.kubevirt.domain import DomainSpec
from virtshape.api.quantity import Format, Quantity
from virtshape.engine.memory import default_memory, find_amount, is_open
from virtshape.engine.topology import DEFAULT_VCPUS, count_vcpus

_MAX_VCPUS: Final = 2**32 - 1
_MAX_BYTES: Final = 2**63 - 1
_ANY_RATIO: Final = (0, _MAX_BYTES)
_MAX_SEARCHED: Final = 512
"""Maximum number of different vCPU counts to try when searching for an allowed size."""


class AllowedSize(NamedTuple):
    """vCPUs and memory that a policy allows together."""

    vcpus: int
    memory: Quantity


class SizingPolicy(NamedTuple):
    """The sizes that an instance type allows."""

    vcpus: range
    memory: range
    """Allowed memory sizes in bytes, before `per_vcpu` limits them further."""
    per_vcpu: tuple[int, int]
    """Minimum and maximum bytes for each vCPU."""
    format: Format
    """The format of memory sizes."""

    def list_memory(self, vcpus: int) -> range:
        """Return the memory sizes, in bytes, that a VM with this many vCPUs may have."""
        least, most = (each * vcpus for each in self.per_vcpu)
        start, step = self.memory.start, self.memory.step
        first = start + max(0, -((start - least) // step)) * step
        return range(first, min(self.memory.stop, most + 1), step)

    def is_allowed(self, vcpus: int) -> bool:
        """Return True if the policy allows this many vCPUs with at least one memory size."""
        return vcpus in self.vcpus and bool(self.list_memory(vcpus))

    def find_nearest_vcpus(self, asked: int) -> list[int]:
        """Return the largest allowed number up to `asked` and the smallest allowed number above it, if they exist."""
        split = _count_up_to(self.vcpus, asked)
        sides: tuple[Iterator[int], ...] = (reversed(self.vcpus[:split]), iter(self.vcpus[split:]))
        return [n for side in sides for n in islice(filter(self.list_memory, islice(side, _MAX_SEARCHED)), 1)]

    def find_nearest_memory(self, vcpus: int, asked: int) -> list[int]:
        """Return `asked` if it is allowed; otherwise the nearest smaller and larger allowed sizes, if they exist."""
        sizes = self.list_memory(vcpus)
        if asked in sizes:
            return [asked]
        split = _count_up_to(sizes, asked)
        return [*sizes[max(0, split - 1) : split], *sizes[split : split + 1]]

    def list_vcpus(self, memory: int) -> range:
        """Return the numbers of vCPUs that a VM with this memory, in bytes, may have."""
        least, most = self.per_vcpu
        if memory not in self.memory:
            return self.vcpus[:0]
        too_few = _count_up_to(self.vcpus, -(-memory // most) - 1)
        enough = _count_up_to(self.vcpus, memory // least if least else _MAX_VCPUS)
        return self.vcpus[too_few:enough]

    def find_size(self, vcpus: int, memory: Quantity) -> AllowedSize | None:
        """Return the smallest allowed size that has at least these amounts, or None."""
        wanted = memory.value()
        for count in islice(self.vcpus[_count_up_to(self.vcpus, vcpus - 1) :], _MAX_SEARCHED):
            sizes = self.list_memory(count)
            sufficient = sizes[_count_up_to(sizes, wanted - 1) :]
            if sufficient:
                return AllowedSize(count, self.quantity(sufficient[0]))
        return None

    def find_nearest_size(self, vcpus: int, memory: Quantity) -> AllowedSize | None:
        """Return the allowed size with the closest vCPUs, and then the closest memory; None if no size is allowed."""
        numbers = self.find_nearest_vcpus(vcpus)
        if not numbers:
            return None
        count, wanted = _choose_closest(numbers, vcpus), memory.value()
        return AllowedSize(count, self.quantity(_choose_closest(self.find_nearest_memory(count, wanted), wanted)))

    def quantity(self, size: int) -> Quantity:
        """Return bytes as a quantity in the policy's format."""
        return Quantity.of(size, self.format)


def has_limits(spec: VirtualMachineInstancetypeSpec) -> bool:
    """Return True if the instance type limits the vCPUs or memory that VMs may ask for."""
    cpu, memory = spec.cpu, spec.memory
    return (cpu is not None and cpu.limits is not None) or (memory is not None and memory.limits is not None)


def read_policy(spec: VirtualMachineInstancetypeSpec) -> SizingPolicy:
    """Return the sizes that an instance type allows."""
    cpu, memory = spec.cpu, spec.memory
    fixed, limits = count_vcpus(cpu), (cpu.limits if cpu else None) or CPULimits()
    vcpus = range(fixed, fixed + 1) if fixed else _build_range(limits.min, limits.max, limits.step, _MAX_VCPUS)
    if memory is not None and memory.guest is not None and not is_open(memory):
        size = memory.guest.value()
        return SizingPolicy(vcpus, range(size, size + 1), _ANY_RATIO, memory.guest.format)
    given = (memory.limits if memory else None) or MemoryLimits()
    ratio = given.per_vcpu or MemoryPerVCPU()
    step = given.step or find_page_size(memory)
    stated = (step, given.min, given.max, ratio.min, ratio.max)
    return SizingPolicy(
        vcpus,
        _build_range(_to_bytes(given.min), _to_bytes(given.max), _to_bytes(step), _MAX_BYTES),
        (_to_bytes(ratio.min) or 0, _to_bytes(ratio.max) or _MAX_BYTES),
        next((one.format for one in stated if one), "BinarySI"),
    )


def build_cpu_limits(vcpus: range) -> CPULimits:
    """Return limits that allow exactly these vCPUs; the range must not be empty."""
    most = None if vcpus.stop > _MAX_VCPUS else vcpus[-1]
    return CPULimits(min=vcpus[0], max=most, step=vcpus.step if vcpus.step > 1 else None)


def find_page_size(memory: MemoryInstancetype | None) -> Quantity | None:
    """Return the huge page size of an instance type; None if it has no huge pages or their size is invalid."""
    if memory is not None and memory.hugepages is not None:
        with suppress(ValueError):
            size = Quantity(memory.hugepages.page_size or "")
            return size if size.amount > 0 else None
    return None


def check_asked_size(
    domain: DomainSpec, instancetype: VirtualMachineInstancetypeSpec | None, root: str
) -> list[FieldError]:
    """Return a violation, with the nearest allowed values, for vCPUs and for memory that the policy excludes."""
    if instancetype is None or not has_limits(instancetype):
        return []
    policy, problems = read_policy(instancetype), []
    own = domain.cpu.guest if domain.cpu else None
    vcpus = count_vcpus(instancetype.cpu) or (DEFAULT_VCPUS if own is None else own)
    if vcpus and not count_vcpus(instancetype.cpu):  # `engine.cpu` reports 0 vCPUs as an error
        problems += check_vcpus(policy, vcpus, f"{root}.domain.cpu.guest", is_set=own is not None)
    field, asked, is_set = _find_asked_memory(domain, f"{root}.domain")
    # `engine.memory` reports a memory size that is absent or not positive.
    if is_open(instancetype.memory) and asked is not None and asked.amount > 0:
        problems += check_memory_size(policy, vcpus, asked, field, is_set=is_set)
    return problems


def check_vcpus(policy: SizingPolicy, asked: int, field: str, *, is_set: bool = True) -> list[FieldError]:
    """Return a violation if the policy excludes this number of vCPUs; `is_set` is False if the number is a default."""
    if policy.is_allowed(asked):
        return []
    allowed = f"no memory size with {_count(asked)}" if asked in policy.vcpus else _describe_vcpus(policy.vcpus)
    return [_build_error(field, asked, is_set, allowed, map(str, policy.find_nearest_vcpus(asked)))]


def check_memory_size(
    policy: SizingPolicy, vcpus: int, asked: Quantity, field: str, *, is_set: bool = True
) -> list[FieldError]:
    """
    Return a violation if the policy excludes this memory for this number of vCPUs.

    If the policy excludes the number of vCPUs, the closest allowed number is used.
    """
    if not policy.is_allowed(vcpus):
        vcpus = _choose_closest(policy.find_nearest_vcpus(vcpus) or [vcpus], vcpus)
    sizes = policy.list_memory(vcpus)
    if not sizes or asked.value() in sizes:  # if no size is allowed, `check_vcpus` reports the vCPUs
        return []
    allowed = _describe_memory(sizes, policy.quantity)
    if policy.per_vcpu != _ANY_RATIO:
        allowed = f"{allowed} with {_count(vcpus)}"
    nearest = map(policy.quantity, policy.find_nearest_memory(vcpus, asked.value()))
    return [_build_error(field, asked, is_set, allowed, nearest)]


def _build_error(field: str, asked: int | Quantity, is_set: bool, allowed: str, nearest: Iterable[str]) -> FieldError:
    stated = f"'{asked}'" if is_set else f"is not set, and the default is {asked}"
    message = f"{field} {stated}: the instance type allows {allowed}"
    values = list(nearest)
    if values:
        message += f"; the nearest allowed {'values are' if len(values) > 1 else 'value is'} {' and '.join(values)}"
    return FieldError(field, message, rule="sizing-policy")


def _find_asked_memory(domain: DomainSpec, at: str) -> tuple[str, Quantity | None, bool]:
    """Return the field that sets the VM's memory, its value or default, and whether the field is set."""
    if domain.memory is not None and domain.memory.guest is not None:
        return f"{at}.memory.guest", domain.memory.guest, True
    resources = domain.resources
    if resources is not None:
        for name, amounts in (("requests", resources.requests), ("limits", resources.limits)):
            amount = find_amount(amounts, "memory")
            if amount is not None:
                return f"{at}.resources.{name}.memory", amount, True
    return f"{at}.memory.guest", default_memory(domain), False


def _build_range(least: int | None, most: int | None, step: int | None, last: int) -> range:
    return range(least or step or 1, (most or last) + 1, step or 1)


def _describe_vcpus(numbers: range) -> str:
    if not numbers:
        return "no vCPUs"
    first, last = numbers[0], numbers[-1]
    if first == last:
        return _count(first)
    described = f"{first} or more vCPUs" if numbers.stop > _MAX_VCPUS else f"{first} to {last} vCPUs"
    return described + _describe_step(numbers)


def _describe_memory(sizes: range, write: Callable[[int], str]) -> str:
    first, last = sizes[0], sizes[-1]
    if first == last:
        return write(first)
    if first == 1:
        return f"up to {write(last)}"
    is_unlimited = sizes.stop > _MAX_BYTES
    described = f"{write(first)} or more" if is_unlimited else f"{write(first)} to {write(last)}"
    return described + _describe_step(sizes, write)


def _describe_step(sizes: range, write: Callable[[int], str] = str) -> str:
    return f" in steps of {write(sizes.step)}" if sizes.step > 1 else ""


def _count_up_to(sizes: range, limit: int) -> int:
    """Return how many values of the range are at most `limit`."""
    highest = min(limit, sizes.stop - 1)
    return max(0, (highest - sizes.start) // sizes.step + 1)


def _choose_closest(values: Sequence[int], asked: int) -> int:
    return min(values, key=lambda value: (abs(value - asked), -value))


def _to_bytes(amount: Quantity | None) -> int | None:
    """Return a limit in bytes; None if it is absent or invalid (lint also checks VMs with invalid instance types)."""
    return amount.value() if amount is not None and amount.amount > 0 else None


def _count(vcpus: int) -> str:
    return f"{vcpus} vCPU" if vcpus == 1 else f"{vcpus} vCPUs"
