"""Assignment of dedicated CPUs to guests."""

from collections.abc import Iterable

from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.controllers.vm.status import measure


def count_cpus(spec: VirtualMachineInstanceSpec) -> int:
    """Return the number of dedicated CPUs that an instance requests; 0 if it requests none."""
    cpu = spec.domain.cpu
    if cpu is None or not cpu.dedicated_cpu_placement:
        return 0
    return (measure(spec).vcpus or 1) + bool(cpu.isolate_emulator_thread)


def choose_cpus(count: int, cpus: Iterable[int], taken: Iterable[int]) -> tuple[int, ...] | None:
    """Return this number of free CPUs; None if there are not enough."""
    free = sorted(set(cpus) - set(taken))
    return tuple(free[:count]) if len(free) >= count else None
