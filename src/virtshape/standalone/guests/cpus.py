"""
CPUs that guests have for themselves: which of the machine's are still free.

Pure.
"""

from collections.abc import Iterable

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.controllers.vm.status import measure


def count_cpus(spec: VirtualMachineInstanceSpec) -> int:
    """How many CPUs an instance is to have for itself; none unless it asks for them."""
    cpu = spec.domain.cpu
    if cpu is None or not cpu.dedicated_cpu_placement:
        return 0
    return (measure(spec).vcpus or 1) + bool(cpu.isolate_emulator_thread)


def choose_cpus(count: int, cpus: Iterable[int], taken: Iterable[int]) -> tuple[int, ...] | None:
    """So many of the CPUs, none of them taken; None if there are not enough."""
    free = sorted(set(cpus) - set(taken))
    return tuple(free[:count]) if len(free) >= count else None
