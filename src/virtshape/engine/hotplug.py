"""
CPU and memory hotplug: default limits for VMIs, and checks that a guest's memory can grow.

The limits come from `liveUpdateConfiguration`. By default, the limits are four times the size at start.
"""

from collections.abc import Iterator
from typing import Final

from virtshape.api.fielderror import FieldError
from virtshape.api.hotpluglimits import MAX_VCPUS, HotplugLimits
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration, LiveUpdateConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.quantity import Quantity
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE

AT_RESTART: Final = "Stage"
"""The rollout strategy that applies changes only when a VM restarts."""
_DEFAULT_RATIO: Final = 4

_BLOCK: Final = Quantity("2Mi")
_LARGE_BLOCK: Final = Quantity("1Gi")
_MIN_GUEST: Final = Quantity("1Gi")
_RULE: Final = "impossible-combination"


def is_live_update(configuration: KubeVirtConfiguration | None) -> bool:
    """Return True if the rollout strategy applies changes to running guests where possible."""
    return configuration is None or configuration.vm_rollout_strategy != AT_RESTART


def default_hotplug_limits(
    spec: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None
) -> HotplugLimits:
    """Return default limits for sockets and memory; a limit is None if the spec sets it or hotplug is not possible."""
    is_amd64 = (spec.architecture or DEFAULT_ARCHITECTURE) == DEFAULT_ARCHITECTURE
    if not is_live_update(configuration) or not is_amd64 or spec.domain.launch_security is not None:
        return HotplugLimits()
    configured = (configuration.live_update_configuration if configuration else None) or LiveUpdateConfiguration()
    cpu, memory = spec.domain.cpu, spec.domain.memory
    return HotplugLimits(
        _default_sockets(cpu, configured) if cpu is not None else None,
        _default_memory(spec.domain, memory, configured) if memory is not None else None,
    )


def _default_sockets(cpu: CPU, configured: LiveUpdateConfiguration) -> int | None:
    """Return the default socket limit; None if CPUs cannot be added, for example because they are dedicated."""
    if cpu.max_sockets or cpu.dedicated_cpu_placement:
        return None
    sockets = cpu.sockets or 1
    possible = MAX_VCPUS // ((cpu.cores or 1) * (cpu.threads or 1))
    limit = min(configured.max_cpu_sockets or sockets * _get_ratio(configured), possible)
    return limit if limit > sockets else None


def _default_memory(domain: DomainSpec, memory: Memory, configured: LiveUpdateConfiguration) -> Quantity | None:
    """Return the default memory limit; None if memory cannot be added, for example because it uses huge pages."""
    guest = memory.guest
    if guest is None or memory.max_guest is not None or memory.hugepages is not None:
        return None
    limit = configured.max_guest or Quantity.of(guest.value() * _get_ratio(configured), guest.format)
    is_possible = not any(check_memory_hotplug(domain, memory, limit, ""))
    return limit if limit.amount > guest.amount and is_possible else None


def _get_ratio(configured: LiveUpdateConfiguration) -> int:
    return configured.max_hotplug_ratio or _DEFAULT_RATIO


def check_memory_hotplug(domain: DomainSpec, memory: Memory, most: Quantity, at: str) -> Iterator[FieldError]:
    """Yield an error for each reason why the guest's memory cannot grow to `most`; `at` is the domain's field path."""
    cpu, field = domain.cpu, f"{at}.memory.maxGuest"
    if cpu is not None and cpu.realtime is not None:
        yield FieldError(field, f"Memory hotplug is not compatible with realtime VMs: remove {field}", rule=_RULE)
    if cpu is not None and cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None:
        message = f"Memory hotplug is not compatible with guest mapping passthrough: remove {field}"
        yield FieldError(field, message, rule=_RULE)
    if domain.launch_security is not None:
        yield FieldError(field, f"Memory hotplug is not compatible with encrypted VMs: remove {field}", rule=_RULE)
    if memory.guest is not None:
        yield from _check_sizes(memory, memory.guest, most, at)


def _check_sizes(memory: Memory, guest: Quantity, most: Quantity, at: str) -> Iterator[FieldError]:
    at_guest, at_most = f"{at}.memory.guest", f"{at}.memory.maxGuest"
    if guest.amount > most.amount:
        reason = f"Guest memory is greater than the configured maxGuest memory: {guest} > {most}"
        yield FieldError(at_guest, reason, rule=_RULE)
        return
    block = _LARGE_BLOCK if memory.hugepages is not None and memory.hugepages.page_size == "1Gi" else _BLOCK
    for name, size, field in (("Guest memory", guest, at_guest), ("MaxGuest", most, at_most)):
        if size.value() % block.value():
            yield FieldError(
                field,
                f"{name} must be {block} aligned for memory hotplug: {size} is not a multiple of {block}",
                rule=_RULE,
            )
    if guest.amount < _MIN_GUEST.amount:
        reason = f"Memory hotplug is only available for VMs with at least {_MIN_GUEST} of guest memory"
        yield FieldError(at_guest, f"{reason}, not {guest}: remove {at_most}", rule=_RULE)
