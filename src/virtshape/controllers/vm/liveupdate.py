"""
Live updates: decide which changes to a VM can be applied to its running instance (more sockets, more memory).

The functions are pure: the new spec is returned, and the launcher applies it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from virtshape.api.hotpluglimits import (
    MAX_GUEST_ANNOTATION,
    MAX_SOCKETS_ANNOTATION,
    HotplugLimits,
    get_hotplug_limits,
)
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.controllers.vm.revisionobjects import (
    is_same,
)
from virtshape.engine.compare import compare_values
from virtshape.engine.hotplug import AT_RESTART, default_hotplug_limits, is_live_update

_NOT_LIVE: Final = "a non-live-updatable field was changed"


class LiveChange(NamedTuple):
    """The new spec of the instance if it grows, and the reason why other changes need a restart, if there is one."""

    spec: VirtualMachineInstanceSpec | None = None
    restart_reason: str = ""


def set_hotplug_limits(
    vmi: VirtualMachineInstance, configuration: KubeVirtConfiguration | None
) -> VirtualMachineInstance:
    """
    Return the new instance with the limits up to which it can grow.

    If live updates are configured, the limits are set in fields, as in KubeVirt; otherwise, in annotations.
    """
    limits = default_hotplug_limits(vmi.spec, configuration)
    if _is_configured(configuration):
        return replace(vmi, spec=replace(vmi.spec, domain=_put_limits(vmi.spec.domain, limits)))
    kept = {MAX_SOCKETS_ANNOTATION: limits.sockets, MAX_GUEST_ANNOTATION: limits.memory}
    others = {name: value for name, value in (vmi.metadata.annotations or {}).items() if name not in kept}
    annotations = others | {name: str(value) for name, value in kept.items() if value is not None}
    return replace(vmi, metadata=replace(vmi.metadata, annotations=annotations or None))


def _is_configured(configuration: KubeVirtConfiguration | None) -> bool:
    return configuration is not None and bool(
        configuration.vm_rollout_strategy or configuration.live_update_configuration
    )


def _put_limits(domain: DomainSpec, limits: HotplugLimits) -> DomainSpec:
    domain = replace(domain)
    if domain.cpu is not None and limits.sockets is not None:
        domain.cpu = replace(domain.cpu, max_sockets=limits.sockets)
    if domain.memory is not None and limits.memory is not None:
        domain.memory = replace(domain.memory, max_guest=limits.memory)
    return domain


def decide_live_change(
    vmi: VirtualMachineInstance, wanted: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None
) -> LiveChange:
    """Return the change from the running instance to `wanted`, which is built from the current spec of its VM."""
    running, limits = vmi.spec, get_hotplug_limits(vmi)
    reasons = list(_check_limits(limits, wanted.domain))
    wanted = replace(wanted, start_strategy=running.start_strategy, domain=_keep_limits(running.domain, wanted.domain))
    if is_same(wanted, running):
        return LiveChange(restart_reason="; ".join(reasons))
    if not is_live_update(configuration):
        return LiveChange(restart_reason=f"vmRolloutStrategy is {AT_RESTART}")
    grown = replace(running, domain=_grow(running.domain, wanted.domain))
    domain = wanted.domain
    obstacles = [
        *_check_sockets(running.domain.cpu, domain.cpu, limits.sockets),
        *_check_memory(running.domain.memory, domain.memory, limits),
        *_check_others(grown, wanted),
    ]
    return LiveChange(None if obstacles else grown, "; ".join([*obstacles, *reasons]))


def _check_limits(limits: HotplugLimits, wanted: DomainSpec) -> Iterator[str]:
    """Yield a reason to restart for each limit in the VM that differs from the limit its instance was started with."""
    sockets = (wanted.cpu.max_sockets if wanted.cpu is not None else None) or limits.sockets
    memory = (wanted.memory.max_guest if wanted.memory is not None else None) or limits.memory
    if sockets != limits.sockets:
        yield f"{_NOT_LIVE}: spec.domain.cpu.maxSockets"
    if not is_same(memory, limits.memory):
        yield f"{_NOT_LIVE}: spec.domain.memory.maxGuest"


def _keep_limits(running: DomainSpec, wanted: DomainSpec) -> DomainSpec:
    """Return the wanted domain with the limits of the running domain."""
    wanted = replace(wanted)
    if running.cpu is not None and wanted.cpu is not None:
        wanted.cpu = replace(wanted.cpu, max_sockets=running.cpu.max_sockets)
    if running.memory is not None and wanted.memory is not None:
        wanted.memory = replace(wanted.memory, max_guest=running.memory.max_guest)
    return wanted


def _grow(running: DomainSpec, wanted: DomainSpec) -> DomainSpec:
    """Return the running domain with the wanted sockets, memory and resources."""
    grown = replace(running, resources=wanted.resources)
    if running.cpu is not None and wanted.cpu is not None:
        grown.cpu = replace(running.cpu, sockets=wanted.cpu.sockets)
    if running.memory is not None and wanted.memory is not None:
        grown.memory = replace(running.memory, guest=wanted.memory.guest)
    return grown


def _check_sockets(running: CPU | None, wanted: CPU | None, limit: int | None) -> Iterator[str]:
    before, after = (cpu.sockets or 1 if cpu is not None else 1 for cpu in (running, wanted))
    if after < before:
        yield f"Reduction of CPU socket count requires a restart: {before} to {after}"
    elif after > before and after > (limit or 0):
        room = (
            f"the guest was started with room for {limit}"
            if limit
            else "the guest was started without room for hotplug"
        )
        yield (
            "CPU sockets updated in template spec to a value higher than what's available: "
            f"{after} sockets wanted, {room}"
        )


def _check_memory(running: Memory | None, wanted: Memory | None, limits: HotplugLimits) -> Iterator[str]:
    before, after = (memory.guest if memory is not None else None for memory in (running, wanted))
    if before is None or after is None:
        return
    limit = limits.memory
    if after.amount < before.amount:
        yield f"Reduction of memory requires a restart: {before} to {after}"
    elif after.amount > before.amount and (limit is None or after.amount > limit.amount):
        room = (
            f"the guest was started with room for {limit}"
            if limit
            else "the guest was started without room for hotplug"
        )
        yield (f"memory updated in template spec to a value higher than what's available: {after} wanted, {room}")


def _check_others(grown: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec) -> Iterator[str]:
    if is_same(grown, wanted):
        return
    fields = [change.field for change in compare_values(grown, wanted, "spec")]
    yield f"{_NOT_LIVE}: {', '.join(fields)}"
