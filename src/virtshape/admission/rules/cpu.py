"""Validate the CPUs of an expanded guest: count, features, dedicated CPUs, NUMA, realtime."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import NOT_SUPPORTED
from virtshape.admission.rules.dedicated import check_dedicated
from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.domain import CPU, CPUFeature, DomainSpec
from virtshape.api.quantity import Quantity

POLICIES: Final = ("force", "require", "optional", "disable", "forbid")
_MAX_CPUS: Final = 2**32 - 1


def check_cpus(domain: DomainSpec, at: str) -> Iterator[FieldError]:
    """Check CPUs and CPU resources; `at` is the field path of the domain."""
    resources, cpu = domain.resources, domain.cpu
    if resources is not None and (resources.requests or resources.limits):
        requested, limit = (resources.requests or {}).get("cpu"), (resources.limits or {}).get("cpu")
        yield from check_amounts("cpu", requested, limit, f"{at}.resources")
        yield from _check_countable(requested, f"{at}.resources.requests.cpu")
        yield from _check_countable(limit, f"{at}.resources.limits.cpu")
    if cpu is None:
        return
    if cpu.features:
        yield from _check_features(cpu.features, f"{at}.cpu.features")
    if cpu.max_sockets and (cpu.sockets or 1) > cpu.max_sockets:
        message = "Number of sockets in CPU topology is greater than the maximum sockets allowed"
        yield FieldError(
            f"{at}.cpu.sockets", f"{message}: {cpu.sockets} > {cpu.max_sockets}", rule="impossible-combination"
        )
    if cpu.dedicated_cpu_placement:
        yield from check_dedicated(domain, cpu, at)
    elif cpu.isolate_emulator_thread:
        message = "IsolateEmulatorThread should be only set in combination with DedicatedCPUPlacement"
        yield FieldError(f"{at}.cpu.isolateEmulatorThread", message, rule="impossible-combination")
    if cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None:
        yield from _check_numa(domain, cpu, at)
    if cpu.realtime is not None:
        yield from _check_realtime(cpu, f"{at}.cpu")


def _check_countable(amount: Quantity | None, field: str) -> Iterator[FieldError]:
    """Check that a CPU amount is not too large: the amount becomes the number of vCPUs if the VM does not set one."""
    if amount is not None and amount.amount > _MAX_CPUS:
        yield FieldError(field, f"{field} '{amount}': must be less than or equal to {_MAX_CPUS}.", rule="invalid-value")


def _check_features(features: Sequence[CPUFeature], at: str) -> Iterator[FieldError]:
    for index, feature in enumerate(features):
        if feature.policy and feature.policy not in POLICIES:
            reason = f"CPU feature {feature.name} uses policy {feature.policy} that is not supported"
            message = f"{reason}: use one of {', '.join(POLICIES)}"
            yield FieldError(f"{at}[{index}].policy", message, NOT_SUPPORTED, rule="unsupported-value")


def _check_numa(domain: DomainSpec, cpu: CPU, at: str) -> Iterator[FieldError]:
    field = f"{at}.cpu.numa.guestMappingPassthrough"
    if not cpu.dedicated_cpu_placement:
        message = f"{at}.cpu.dedicatedCpuPlacement must be set to true when NUMA topology strategy is set in {field}"
        yield FieldError(field, message, rule="impossible-combination")
    if domain.memory is None or domain.memory.hugepages is None:
        message = f"{at}.memory.hugepages must be requested when NUMA topology strategy is set in {field}"
        yield FieldError(field, message, rule="impossible-combination")


def _check_realtime(cpu: CPU, at: str) -> Iterator[FieldError]:
    if not cpu.dedicated_cpu_placement:
        field = f"{at}.dedicatedCpuPlacement"
        message = f"{field} must be set to true when {at}.realtime is used"
        yield FieldError(field, message, VALUE_REQUIRED, rule="impossible-combination")
    if cpu.numa is None or cpu.numa.guest_mapping_passthrough is None:
        field = f"{at}.numa.guestMappingPassthrough"
        message = f"{field} must be defined when {at}.realtime is used"
        yield FieldError(field, message, VALUE_REQUIRED, rule="impossible-combination")


def check_amounts(resource: str, requested: Quantity | None, limit: Quantity | None, at: str) -> Iterator[FieldError]:
    """Check that a resource's request and limit are not negative, and that the request does not exceed the limit."""
    for name, amount in (("requests", requested), ("limits", limit)):
        if amount is not None and amount.amount < 0:
            field = f"{at}.{name}.{resource}"
            yield FieldError(field, f"{field} '{amount}': must be greater than or equal to 0.", rule="invalid-value")
    if requested is not None and limit is not None and requested.amount > limit.amount > 0:
        field = f"{at}.requests.{resource}"
        message = f"{field} '{requested}' is greater than {at}.limits.{resource} '{limit}'"
        yield FieldError(field, message, rule="impossible-combination")
