"""
vCPUs of a guest that is all there: how many, whose they are, and what goes with CPUs of its own.

Pure: yields violations.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.admission.rules.checks import check_value
from virtshape.admission.violation import Violation
from virtshape.api.kubevirt.domain import CPU, DomainSpec
from virtshape.api.quantity import Quantity

_POLICIES: Final = ("force", "require", "optional", "disable", "forbid")


def check_cpus(domain: DomainSpec, at: str) -> Iterator[Violation]:
    """Whether the CPUs can be had as they are asked for; `at` is where the domain stands."""
    yield from _check_amounts(domain, at)
    cpu = domain.cpu
    if cpu is None:
        return
    for index, feature in enumerate(cpu.features or ()):
        yield from check_value(f"{at}.cpu.features[{index}]", "policy", feature.policy, _POLICIES)
    if cpu.max_sockets and (cpu.sockets or 1) > cpu.max_sockets:
        message = "Number of sockets in CPU topology is greater than the maximum sockets allowed"
        yield Violation("impossible-combination", f"{at}.cpu.sockets", f"{message}: {cpu.sockets} > {cpu.max_sockets}")
    if cpu.dedicated_cpu_placement:
        yield from _check_dedicated(domain, cpu, at)
    else:
        yield from _check_shared(cpu, at)
    numa = cpu.numa.guest_mapping_passthrough if cpu.numa else None
    if numa is not None and (domain.memory is None or domain.memory.hugepages is None):
        message = f"{at}.cpu.numa.guestMappingPassthrough requires {at}.memory.hugepages"
        yield Violation("impossible-combination", f"{at}.cpu.numa.guestMappingPassthrough", message)


def _check_shared(cpu: CPU, at: str) -> Iterator[Violation]:
    """What is only to be had with CPUs of one's own."""
    needing = {
        "isolateEmulatorThread": cpu.isolate_emulator_thread,
        "numa.guestMappingPassthrough": cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None,
        "realtime": cpu.realtime is not None,
    }
    for name, is_wanted in needing.items():
        if is_wanted:
            message = f"{at}.cpu.{name} should be only set in combination with DedicatedCPUPlacement"
            yield Violation("impossible-combination", f"{at}.cpu.{name}", message)


def _check_dedicated(domain: DomainSpec, cpu: CPU, at: str) -> Iterator[Violation]:
    resources = domain.resources
    requests, limits = (resources.requests or {}, resources.limits or {}) if resources else ({}, {})
    field = f"{at}.cpu.dedicatedCpuPlacement"
    for name, amounts in (("requests", requests), ("limits", limits)):
        amount = amounts.get("cpu")
        if amount is not None and amount.amount != int(amount.amount):
            message = f"provided resources CPU {name} must be an integer when DedicatedCPUPlacement is true"
            yield Violation("impossible-combination", f"{at}.resources.{name}.cpu", message)
    requested, limit = requests.get("cpu"), limits.get("cpu")
    if requested is not None and limit is not None and not requested.same_as(limit):
        message = f"{at}.resources.requests.cpu and {at}.resources.limits.cpu must be equal with {field}"
        yield Violation("impossible-combination", f"{at}.resources.requests.cpu", message)
    vcpus = (cpu.sockets or 1) * (cpu.cores or 1) * (cpu.threads or 1)
    given = requested or limit
    if given is not None and given.amount == int(given.amount) and int(given.amount) != vcpus:
        message = f"{given} CPUs are asked for, but the guest has {vcpus} vCPUs: with {field} they must be the same"
        yield Violation("impossible-combination", field, message)


def _check_amounts(domain: DomainSpec, at: str) -> Iterator[Violation]:
    resources = domain.resources
    if resources is None:
        return
    requested, limit = (resources.requests or {}).get("cpu"), (resources.limits or {}).get("cpu")
    yield from check_amounts("cpu", requested, limit, f"{at}.resources")


def check_amounts(resource: str, requested: Quantity | None, limit: Quantity | None, at: str) -> Iterator[Violation]:
    """Whether a request and a limit are amounts, and the limit the larger one."""
    for name, amount in (("requests", requested), ("limits", limit)):
        if amount is not None and amount.amount < 0:
            field = f"{at}.{name}.{resource}"
            yield Violation("invalid-value", field, f"{field} '{amount}': must be greater than or equal to 0.")
    if requested is not None and limit is not None and requested.amount > limit.amount:
        field = f"{at}.requests.{resource}"
        message = f"{field} '{requested}' is greater than {at}.limits.{resource} '{limit}'"
        yield Violation("impossible-combination", field, message)
