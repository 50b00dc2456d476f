"""NUMA cells of a guest that mirrors the topology of its host."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, GIB, design_guest, list_refusals

from virtshape.api.model import JsonObject
from virtshape.launcher.domain.cpu import Cell
from virtshape.launcher.domain.memory import HugePages, MemoryBacking
from virtshape.launcher.domain.tuning import MemoryNode, NumaTune
from virtshape.launcher.host import NumaCell

TWO = replace(
    ACCELERATED, cpus=tuple(range(8)), numa_cells=(NumaCell(0, ((0, 4), (1, 5))), NumaCell(3, ((2, 6), (3, 7))))
)


def mirror(memory: str = "5Gi", hugepages: JsonObject | None = None, **cpu: Any) -> JsonObject:
    return {
        "cpu": {"dedicatedCpuPlacement": True, "numa": {"guestMappingPassthrough": {}}, "threads": 2, **cpu},
        "memory": {"guest": memory, "hugepages": hugepages or {"pageSize": "1Gi"}},
    }


def test_numa_cells_have_host_cpus_and_a_share_of_the_huge_pages() -> None:
    design = design_guest(mirror(cores=3), host=TWO)
    assert design.domain.cpu.cells == (Cell(0, (0, 1, 2, 3), 3 * GIB), Cell(1, (4, 5), 2 * GIB))
    assert design.domain.numa_tune == NumaTune((0, 3), (MemoryNode(0, 0), MemoryNode(1, 3)))
    assert design.domain.backing == MemoryBacking(
        hugepages=(HugePages(GIB, (0,)), HugePages(GIB, (1,))), memfd=True, immediate=True
    )
    assert design.refusals == ()


def test_realtime_guest_with_numa_does_not_merge_memory_pages() -> None:
    backing = design_guest(mirror(cores=1, realtime={}), host=TWO).domain.backing
    assert backing == MemoryBacking(hugepages=(HugePages(GIB, (0,)),), memfd=True, immediate=True, unmerged=True)


@pytest.mark.parametrize(
    ("domain", "refusals"),
    [
        pytest.param(
            {**mirror(cores=1), "memory": {"guest": "2Gi"}},
            {"cpu.numa.guestMappingPassthrough": "needs memory.hugepages"},
            id="no huge pages",
        ),
        pytest.param(
            mirror(cores=3, memory="1Gi"),
            {"cpu.numa.guestMappingPassthrough": "the guest's memory has fewer huge pages than its 2 NUMA nodes"},
            id="a node without memory",
        ),
        pytest.param(
            mirror(cores=1, maxSockets=2),
            {"cpu.maxSockets": "CPU hotplug is not supported with guestMappingPassthrough"},
            id="CPU hotplug",
        ),
    ],
)
def test_impossible_numa_topology_is_refused(domain: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest(domain, host=TWO)) == refusals


def test_core_is_not_split_across_numa_nodes() -> None:
    torn = replace(TWO, cpus=(0, 1, 2), numa_cells=(NumaCell(0, ((0,),)), NumaCell(1, ((1,),)), NumaCell(2, ((2,),))))
    assert list_refusals(design_guest(mirror(cores=1), host=torn)) == {
        "cpu.dedicatedCpuPlacement": "the threads of a core would be on different NUMA nodes, "
        "which guestMappingPassthrough does not allow"
    }
