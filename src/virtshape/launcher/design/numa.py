"""Design the NUMA cells of a guest: one cell for each NUMA node of its host CPUs, or a single cell."""

from typing import Final, NamedTuple

from msgspec.structs import replace

from virtshape.api.kubevirt.domain import Memory as AskedMemory
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.design.memory import find_page_size
from virtshape.launcher.design.pinning import design_cells
from virtshape.launcher.domain.cpu import Cell, Topology
from virtshape.launcher.domain.memory import HugePages, Memory, MemoryBacking
from virtshape.launcher.domain.tuning import CpuTune, MemoryNode, NumaTune, Pin

_PASSTHROUGH: Final = "spec.domain.cpu.numa.guestMappingPassthrough"


class Layout(NamedTuple):
    """The guest's NUMA cells, and the backing of their memory."""

    cells: tuple[Cell, ...] = ()
    tune: NumaTune | None = None
    backing: MemoryBacking | None = None


def design_numa(
    context: DesignContext, topology: Topology, memory: Memory, tune: CpuTune | None, backing: MemoryBacking | None
) -> Layout:
    """Return a cell per host NUMA node if requested, or a single cell if memory can be hotplugged, or no cells."""
    cpu = context.spec.domain.cpu
    if cpu is not None and cpu.numa is not None and cpu.numa.guest_mapping_passthrough is not None and tune is not None:
        return _mirror(context, topology, memory, tune, backing)
    if memory.maximum is not None:
        return Layout((Cell(0, tuple(range(topology.vcpus)), memory.size),), None, backing)
    return Layout((), None, backing)


def _mirror(
    context: DesignContext, topology: Topology, memory: Memory, tune: CpuTune, backing: MemoryBacking | None
) -> Layout:
    page = find_page_size(context.spec.domain.memory or AskedMemory())
    if not page or backing is None:
        context.refuse(_PASSTHROUGH, "needs memory.hugepages")
        return Layout((), None, backing)
    if topology.vcpus > len(tune.vcpu_pins):
        context.refuse("spec.domain.cpu.maxSockets", "CPU hotplug is not supported with guestMappingPassthrough")
        return Layout((), None, backing)
    nodes = _group(context, tune.vcpu_pins)
    sizes = _share(memory.size, page, len(nodes))
    if not all(sizes):
        context.refuse(_PASSTHROUGH, f"the guest's memory has fewer huge pages than its {len(nodes)} NUMA nodes")
        return Layout((), None, backing)
    cells = tuple(Cell(number, nodes[node], sizes[number]) for number, node in enumerate(nodes))
    memory_nodes = tuple(MemoryNode(number, node) for number, node in enumerate(nodes))
    return Layout(
        cells,
        NumaTune(tuple(nodes), memory_nodes),
        replace(
            backing,
            hugepages=tuple(HugePages(page, (cell.id,)) for cell in cells),
            immediate=True,
            unmerged=tune.realtime is not None,
        ),
    )


def _group(context: DesignContext, pins: tuple[Pin, ...]) -> dict[int, tuple[int, ...]]:
    """Return the vCPUs on each host NUMA node, in the host's order."""
    nodes = {}
    for cell in design_cells(context.host, context.host.cpus):
        near = {number for core in cell.cores for number in core}
        vcpus = tuple(pin.thread for pin in pins if near.intersection(pin.cpus))
        if vcpus:
            nodes[cell.id] = vcpus
    return nodes


def _share(size: int, page: int, parts: int) -> list[int]:
    """Split the memory evenly into sizes of whole pages; the first sizes include the remaining pages."""
    pages, rest = divmod(size // page, parts)
    return [(pages + (part < rest)) * page for part in range(parts)]
