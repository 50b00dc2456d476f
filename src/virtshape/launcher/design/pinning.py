"""
Assign host CPUs to the threads of a guest with dedicated CPUs.

The threads of a virtual core get CPUs of one physical core if possible, otherwise of one NUMA node, otherwise any.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from virtshape.launcher.domain.cpu import Topology
from virtshape.launcher.domain.tuning import Pin
from virtshape.launcher.host import Host, NumaCell

Chunk = tuple[int, ...]


class Allotment(NamedTuple):
    """The CPUs that are assigned to vCPUs, in the order of the vCPUs, and the remaining CPUs."""

    vcpus: Chunk
    spare: Chunk


def design_cells(host: Host, cpus: Iterable[int]) -> tuple[NumaCell, ...]:
    """Return the host NUMA cells, reduced to these CPUs."""
    allowed = set(cpus)
    cells = host.numa_cells or (NumaCell(0, tuple((cpu,) for cpu in host.cpus)),)
    kept = (NumaCell(cell.id, tuple(_keep(core, allowed) for core in cell.cores)) for cell in cells)
    return tuple(cell for cell in kept if any(cell.cores))


def allot_cpus(cells: Sequence[NumaCell], topology: Topology, *, across_cells: bool) -> Allotment | None:
    """
    Assign CPUs to all virtual cores; return None if there are too few CPUs.

    With `across_cells`, cores may span NUMA cells.
    """
    threads, wanted = topology.threads, topology.sockets * topology.cores
    whole = [chunk for cell in cells for core in cell.cores for chunk in _split(core, threads)]
    loose = [[cpu for core in cell.cores for cpu in core[len(core) // threads * threads :]] for cell in cells]
    near = [chunk for cpus in loose for chunk in _split(cpus, threads)]
    ends = [cpu for cpus in loose for cpu in cpus[len(cpus) // threads * threads :]]
    chunks = whole + near + (_split(ends, threads) if across_cells else [])
    if len(chunks) < wanted:
        return None
    taken = tuple(cpu for chunk in chunks[:wanted] for cpu in chunk)
    everything = [*ends, *(cpu for chunk in near + whole for cpu in chunk)]
    return Allotment(taken, tuple(cpu for cpu in everything if cpu not in taken))


def spread_iothreads(count: int, cpus: Chunk) -> tuple[Pin, ...]:
    """Pin I/O threads to the vCPUs' CPUs: split the CPUs evenly, or share them round-robin if there are too few."""
    if count >= len(cpus):
        return tuple(Pin(thread, (cpus[thread % len(cpus)],)) for thread in range(1, count + 1))
    size, rest = divmod(len(cpus), count)
    pins, start = [], 0
    for thread in range(1, count + 1):
        end = start + size + (thread <= rest)
        pins.append(Pin(thread, cpus[start:end]))
        start = end
    return tuple(pins)


def _keep(core: Chunk, allowed: set[int]) -> Chunk:
    return tuple(cpu for cpu in core if cpu in allowed)


def _split(cpus: Sequence[int], size: int) -> list[Chunk]:
    """Split CPUs into chunks of this size and drop the remainder."""
    return [tuple(cpus[start : start + size]) for start in range(0, len(cpus) - size + 1, size)]
