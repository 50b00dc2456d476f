"""Suggest the nearest instance types that would be accepted. The caller decides which instance types are acceptable."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import NamedTuple

from virtshape.api.instancetype.v1beta2 import VirtualMachineInstancetypeSpec
from virtshape.engine.topology import count_vcpus

MAX_SUGGESTIONS = 3


class Candidate(NamedTuple):
    """An instance type and its name."""

    name: str
    spec: VirtualMachineInstancetypeSpec


def find_nearest(
    candidates: Iterable[Candidate], is_acceptable: Callable[[VirtualMachineInstancetypeSpec], bool], near_to: str = ""
) -> list[str]:
    """
    Return the names of up to three acceptable instance types.

    Instance types in the series of `near_to` come before all others. In both groups, those with fewer special
    settings and then those with smaller sizes come first.
    """
    series = near_to.partition(".")[0]
    nearest: list[str] = []
    for candidate in sorted(candidates, key=lambda each: (each.name.partition(".")[0] != series, _size(each))):
        if is_acceptable(candidate.spec):
            nearest.append(candidate.name)
            if len(nearest) == MAX_SUGGESTIONS:
                break
    return nearest


def count_traits(spec: VirtualMachineInstancetypeSpec) -> int:
    """Return the number of special settings in an instance type, such as GPUs, huge pages and overcommit."""
    cpu, memory = spec.cpu, spec.memory
    traits: list[object] = [spec.gpus, spec.host_devices, spec.node_selector]
    if cpu is not None:
        traits += [cpu.dedicated_cpu_placement, cpu.realtime, cpu.numa]
    if memory is not None:
        traits += [memory.hugepages, memory.overcommit_percent]
    return sum(map(bool, traits))


def _size(candidate: Candidate) -> tuple[int, int, Decimal, str]:
    """Return the sort key: number of special settings, vCPUs, memory and name."""
    spec, memory = candidate.spec, candidate.spec.memory
    guest = memory.guest.amount if memory and memory.guest else Decimal(0)
    return count_traits(spec), count_vcpus(spec.cpu), guest, candidate.name
