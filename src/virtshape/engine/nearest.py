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


def count_traits(spec: VirtualMachineInstancetypeSpec) -> int:
    """How much an instance type asks of a node beside vCPUs and memory; the plainest asks for nothing."""
    cpu, memory = spec.cpu, spec.memory
    traits: list[object] = [spec.gpus, spec.host_devices, spec.node_selector]
    if cpu is not None:
        traits += [cpu.dedicated_cpu_placement, cpu.realtime, cpu.numa]
    if memory is not None:
        traits += [memory.hugepages, memory.overcommit_percent]
    return sum(map(bool, traits))


def _size(candidate: Candidate) -> tuple[int, int, Decimal, str]:
    """What an instance type asks of a node, the plainest first."""
    spec, memory = candidate.spec, candidate.spec.memory
    guest = memory.guest.amount if memory and memory.guest else Decimal(0)
    return count_traits(spec), count_vcpus(spec.cpu), guest, candidate.name
