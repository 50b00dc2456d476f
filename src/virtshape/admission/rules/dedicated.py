"""Validate dedicated CPU placement: one whole CPU for each vCPU, and equal memory request and limit."""

from collections.abc import Iterator, Mapping
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.domain import CPU, DomainSpec
from virtshape.api.quantity import Quantity

_MAX_THREADS: Final = 2
_WHEN: Final = "when DedicatedCPUPlacement is true"
_RULE: Final = "impossible-combination"

Amounts = Mapping[str, Quantity]


def check_dedicated(domain: DomainSpec, cpu: CPU, at: str) -> Iterator[FieldError]:
    """Check resources, memory and threads of a guest with dedicated CPUs; `at` is the field path of the domain."""
    resources = domain.resources
    if resources is not None and (resources.requests or resources.limits):
        yield from _check_shares(resources.requests or {}, resources.limits or {}, cpu, at)
    if not _has_memory(domain):
        sources = f"{at}.resources.requests.memory, {at}.resources.limits.memory, {at}.memory.hugepages"
        message = f"{sources} or {at}.memory.guest should be provided {_WHEN}"
        yield FieldError(f"{at}.resources.limits.memory", message, rule=_RULE)
    if (cpu.threads or 1) > _MAX_THREADS:
        reason = f"Not more than two threads must be provided at {at}.cpu.threads (got {cpu.threads})"
        yield FieldError(f"{at}.cpu.dedicatedCpuPlacement", f"{reason} {_WHEN}", rule=_RULE)


def _has_memory(domain: DomainSpec) -> bool:
    memory, resources = domain.memory, domain.resources
    if memory is not None and (memory.hugepages is not None or (memory.guest is not None and memory.guest.amount)):
        return True
    shares = (resources.requests, resources.limits) if resources is not None else ()
    return any(amounts and "memory" in amounts and amounts["memory"].amount for amounts in shares)


def _check_shares(requests: Amounts, limits: Amounts, cpu: CPU, at: str) -> Iterator[FieldError]:
    field, at_requests, at_limits = (
        f"{at}.cpu.dedicatedCpuPlacement",
        f"{at}.resources.requests",
        f"{at}.resources.limits",
    )
    for name, amount in (("requests", requests.get("cpu")), ("limits", limits.get("cpu"))):
        if amount is not None and not _is_integer(amount):
            message = f"provided resources CPU {name} must be an integer {_WHEN}"
            yield FieldError(f"{at}.resources.{name}.cpu", message, rule=_RULE)
    requested, limit = requests.get("cpu"), limits.get("cpu")
    if requested is not None and limit is not None and not requested.same_as(limit):
        yield FieldError(field, f"{at_requests}.cpu or {at_limits}.cpu must be equal {_WHEN}", rule=_RULE)
    given = requested or limit
    vcpus = (cpu.sockets or 1) * (cpu.cores or 1) * (cpu.threads or 1)
    if given is not None and _is_integer(given) and given.amount != vcpus:
        reason = (
            f"{at_requests}.cpu or {at_limits}.cpu must not be provided at the same time with {at}.cpu.cores {_WHEN}"
        )
        yield FieldError(field, f"{reason}: {given} CPUs are requested, but the guest has {vcpus} vCPUs", rule=_RULE)
    memory, most = requests.get("memory"), limits.get("memory")
    if memory is not None and most is not None and 0 < memory.amount < most.amount:
        message = f"{at_requests}.memory must be equal to {at_limits}.memory {_WHEN}"
        yield FieldError(f"{at_requests}.memory", message, rule=_RULE)


def _is_integer(amount: Quantity) -> bool:
    # `int` would be slow for a number with millions of digits.
    return amount.amount == amount.amount.to_integral_value()
