"""
Changes of a VM that reach its running instance: more vCPUs and more memory, where room was left for them.

Pure: says what the instance is to become. Whether its guest follows is for the launcher to say.
"""

from typing import Final

from msgspec.structs import replace

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.domain import CPU, DomainSpec, Memory
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.controllers.vm.revisions import is_same

AT_RESTART: Final = "Stage"
"""The rollout strategy that leaves running instances alone."""


def find_live_change(
    running: VirtualMachineInstanceSpec, wanted: VirtualMachineInstanceSpec, configuration: KubeVirtConfiguration | None
) -> VirtualMachineInstanceSpec | None:
    """The spec of the running instance once it has grown to what is wanted; None if that takes a restart."""
    if configuration is not None and configuration.vm_rollout_strategy == AT_RESTART:
        return None
    wanted = replace(wanted, start_strategy=running.start_strategy)
    grown = replace(running, domain=_grow(running.domain, wanted.domain))
    is_growth = _is_cpu_growth(running.domain.cpu, wanted.domain.cpu) and _is_memory_growth(
        running.domain.memory, wanted.domain.memory
    )
    return grown if is_growth and is_same(grown, wanted) else None


def _grow(running: DomainSpec, wanted: DomainSpec) -> DomainSpec:
    """The domain with the sizes that are wanted, and the resources that go with them."""
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
