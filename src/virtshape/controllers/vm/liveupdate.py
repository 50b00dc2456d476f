"""
Live updates: find changes of a VM that can be applied to its running instance (more sockets, more memory).

Pure: returns the new spec. The launcher applies it.
"""

from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.controllers.vm.revisions import is_same

AT_RESTART: Final = "Stage"
"""Rollout strategy that changes VMs only at a restart."""


def find_live_change(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None
) -> VirtualMachineInstanceSpec | None:
    """Return the spec of the running instance with the wanted size; None if that requires a restart."""
    if configuration is not None and configuration.vm_rollout_strategy == AT_RESTART:
        return None
    wanted = replace(wanted, start_strategy=running.start_strategy)
    grown = replace(running, domain=_grow(running.domain, wanted.domain))
    is_growth = _is_cpu_growth(running.domain.cpu, wanted.domain.cpu) and _is_memory_growth(
        running.domain.memory, wanted.domain.memory
    )
    return grown if is_growth and is_same(grown, wanted) else None


def _grow(running: DomainSpec, wanted: DomainSpec) -> DomainSpec:
    """Return the domain with the wanted sizes and resources."""
    grown = replace(running, resources=wanted.resources)
    if running.cpu is not None and wanted.cpu is not None:
        grown.cpu = replace(running.cpu, sockets=wanted.cpu.sockets)
    if running.memory is not None and wanted.memory is not None:
        grown.memory = replace(running.memory, guest=wanted.memory.guest)
    return grown


def _is_cpu_growth(running: CPU | None, wanted: CPU | None) -> bool:
    if running is None or wanted is None or running.sockets == wanted.sockets:
        return True
    return (running.sockets or 1) < (wanted.sockets or 1) <= (running.max_sockets or 0)


def _is_memory_growth(running: Memory | None, wanted: Memory | None) -> bool:
    if running is None or wanted is None or running.guest is None or wanted.guest is None:
        return True
    if running.guest.same_as(wanted.guest):
        return True
    return running.max_guest is not None and running.guest.amount < wanted.guest.amount <= running.max_guest.amount
