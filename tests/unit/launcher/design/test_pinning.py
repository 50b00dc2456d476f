"""Assignment of host CPUs to vCPUs and I/O threads."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED

from virtshape.launcher.design.pinning import Allotment, allot_cpus, design_cells, spread_iothreads
from virtshape.launcher.domain.cpu import Topology
from virtshape.launcher.domain.tuning import Pin
from virtshape.launcher.host import NumaCell

ONE = (NumaCell(0, ((0, 4), (1, 5), (2, 6), (3, 7))),)
TWO = (NumaCell(0, ((0, 4), (1, 5))), NumaCell(1, ((2, 6), (3, 7))))
TORN = (NumaCell(0, ((0,), (1,), (2,))), NumaCell(1, ((3,), (4,), (5,))))


@pytest.mark.parametrize(
    ("cells", "topology", "allotment"),
    [
        pytest.param(ONE, Topology(2), Allotment((0, 4), (1, 5, 2, 6, 3, 7)), id="vCPUs of one thread"),
        pytest.param(ONE, Topology(1, 2, 2), Allotment((0, 4, 1, 5), (2, 6, 3, 7)), id="threads on one physical core"),
        pytest.param(TWO, Topology(4, 1, 2), Allotment((0, 4, 1, 5, 2, 6, 3, 7), ()), id="all CPUs"),
        pytest.param(
            (NumaCell(0, ((0,), (1, 5), (2,))),),
            Topology(1, 1, 2),
            Allotment((1, 5), (0, 2)),
            id="complete cores first",
        ),
        pytest.param(
            (NumaCell(0, ((0,), (1, 5), (2,))),),
            Topology(1, 2, 2),
            Allotment((1, 5, 0, 2), ()),
            id="then CPUs of the same NUMA node",
        ),
        pytest.param(TORN, Topology(1, 2, 2), Allotment((0, 1, 3, 4), (2, 5)), id="cores of one NUMA node"),
        pytest.param(TORN, Topology(1, 3, 2), Allotment((0, 1, 3, 4, 2, 5), ()), id="last core on another NUMA node"),
        pytest.param(ONE, Topology(9), None, id="too few CPUs"),
        pytest.param((), Topology(1), None, id="none"),
    ],
)
def test_host_cpus_are_assigned_to_vcpus(
    cells: tuple[NumaCell, ...], topology: Topology, allotment: Allotment | None
) -> None:
    assert allot_cpus(cells, topology, across_cells=True) == allotment


def test_core_is_not_split_across_numa_cells() -> None:
    assert allot_cpus(TORN, Topology(1, 3, 2), across_cells=False) is None
    assert allot_cpus(TORN, Topology(1, 2, 2), across_cells=False) == Allotment((0, 1, 3, 4), (2, 5))


def test_numa_cells_contain_only_the_cpus_of_the_guest() -> None:
    host = replace(ACCELERATED, numa_cells=TWO)
    assert design_cells(host, (0, 4, 5, 9)) == (NumaCell(0, ((0, 4), (5,))),)


def test_host_with_unknown_topology_has_one_numa_cell() -> None:
    host = replace(ACCELERATED, cpus=(0, 1, 2), numa_cells=())
    assert design_cells(host, (1, 2)) == (NumaCell(0, ((), (1,), (2,))),)


@pytest.mark.parametrize(
    ("count", "cpus", "pins"),
    [
        pytest.param(1, (0, 1), (Pin(1, (0, 1)),), id="one thread on all CPUs"),
        pytest.param(
            3,
            (0, 1, 2, 3, 4, 5, 6, 7),
            (Pin(1, (0, 1, 2)), Pin(2, (3, 4, 5)), Pin(3, (6, 7))),
            id="even shares",
        ),
        pytest.param(3, (8, 9), (Pin(1, (9,)), Pin(2, (8,)), Pin(3, (9,))), id="more threads than CPUs"),
    ],
)
def test_io_threads_share_cpus_evenly(count: int, cpus: tuple[int, ...], pins: tuple[Pin, ...]) -> None:
    assert spread_iothreads(count, cpus) == pins
