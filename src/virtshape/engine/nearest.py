"""
Which other instance types come near to one that will not do.

Pure: ranks what it is given; whether one of them would do is asked of the caller.
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import NamedTuple

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.topology import count_vcpus

MOST_NAMED = 3


class Candidate(NamedTuple):
    """An instance type and its name."""

    name: str
    spec: VirtualMachineInstancetypeSpec


def find_nearest(
    candidates: Iterable[Candidate], would_do: Callable[[VirtualMachineInstancetypeSpec], bool], near_to: str = ""
) -> list[str]:
    """Up to three names of instance types that would do: of the same series first, then the smallest first."""
    series = near_to.partition(".")[0]
    nearest: list[str] = []
    for candidate in sorted(candidates, key=lambda each: (each.name.partition(".")[0] != series, _size(each))):
        if would_do(candidate.spec):
            nearest.append(candidate.name)
            if len(nearest) == MOST_NAMED:
                break
    return nearest


def _size(candidate: Candidate) -> tuple[int, int, Decimal, str]:
    """What an instance type asks of a node, the plainest first."""
    cpu, memory = candidate.spec.cpu, candidate.spec.memory
    demands = [
        cpu and cpu.dedicated_cpu_placement,
        cpu and cpu.realtime,
        memory and memory.hugepages,
        candidate.spec.gpus,
        candidate.spec.host_devices,
        candidate.spec.node_selector,
    ]
    guest = Decimal(memory.guest.amount) if memory and memory.guest else Decimal(0)
    return sum(map(bool, demands)), count_vcpus(cpu), guest, candidate.name
