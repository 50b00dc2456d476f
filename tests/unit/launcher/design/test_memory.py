"""Guest memory and its backing."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, EMULATING, GIB, design_guest, list_refusals

from virtshape.api.hotpluglimits import MAX_GUEST_ANNOTATION
from virtshape.api.model import JsonObject
from virtshape.launcher.domain.cpu import Cell
from virtshape.launcher.domain.memory import HugePages, Memory, MemoryBacking

MIB = 1 << 20


@pytest.mark.parametrize(
    ("domain", "memory"),
    [
        pytest.param({"memory": {"guest": "2Gi"}}, Memory(size=2 * GIB), id="guest memory"),
        pytest.param(
            {"memory": {"guest": "2Gi"}, "resources": {"requests": {"memory": "1Gi"}}},
            Memory(size=2 * GIB),
            id="guest memory before request",
        ),
        pytest.param(
            {"memory": {}, "resources": {"requests": {"memory": "1G"}}}, Memory(size=10**9), id="memory request"
        ),
        pytest.param({"memory": None, "resources": {"limits": {"memory": "1Gi"}}}, Memory(size=GIB), id="memory limit"),
        pytest.param({"memory": {"guest": "1Gi", "maxGuest": "4Gi"}}, Memory(size=GIB, maximum=4 * GIB), id="hotplug"),
        pytest.param(
            {"memory": {"guest": "1Gi", "maxGuest": "1024Mi"}}, Memory(size=GIB), id="hotplug up to the current size"
        ),
    ],
)
def test_guest_memory_is_converted_to_bytes(domain: JsonObject, memory: Memory) -> None:
    design = design_guest(domain)
    assert design.domain.memory == memory
    assert design.refusals == ()


@pytest.mark.parametrize(
    ("annotation", "maximum"),
    [("4Gi", 4 * GIB), ("512Mi", None), ("much", None)],
    ids=["more", "less than at start", "not a quantity"],
)
def test_default_memory_limit_is_used_only_if_it_is_valid(annotation: str, maximum: int | None) -> None:
    design = design_guest({"memory": {"guest": "1Gi"}}, annotations={MAX_GUEST_ANNOTATION: annotation})
    assert (design.domain.memory, design.refusals) == (Memory(size=GIB, maximum=maximum), ())


def test_hotpluggable_memory_requires_a_numa_cell() -> None:
    domain = design_guest(
        {"memory": {"guest": "1Gi", "maxGuest": "4Gi"}, "cpu": {"sockets": 1, "maxSockets": 2}}
    ).domain
    assert domain.cpu.cells == (Cell(0, (0, 1), GIB),)


@pytest.mark.parametrize(
    ("domain", "annotations", "backing"),
    [
        pytest.param({}, None, None, id="plain"),
        pytest.param(
            {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}},
            None,
            MemoryBacking(hugepages=(HugePages(GIB),), memfd=True),
            id="huge pages",
        ),
        pytest.param(
            {"memory": {"guest": "1Gi", "hugepages": {}}},
            None,
            MemoryBacking(hugepages=(HugePages(2 * MIB),), memfd=True),
            id="huge pages of the usual size",
        ),
        pytest.param(
            {"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
            {"kubevirt.io/memfd": "false"},
            MemoryBacking(hugepages=(HugePages(2 * MIB),)),
            id="huge pages from files",
        ),
        pytest.param(
            {"memory": {"guest": "1Gi", "reservedOverhead": {"memLock": "Required"}}},
            None,
            MemoryBacking(locked=True),
            id="locked",
        ),
        pytest.param(
            {"memory": {"guest": "1Gi", "reservedOverhead": {"memLock": "NotRequired"}}}, None, None, id="not locked"
        ),
    ],
)
def test_requested_memory_backing_is_used(
    domain: JsonObject, annotations: dict[str, str] | None, backing: MemoryBacking | None
) -> None:
    design = design_guest(domain, annotations=annotations)
    assert design.domain.backing == backing
    assert design.refusals == ()


def test_virtiofs_requires_shared_memory() -> None:
    devices = {"filesystems": [{"name": "home", "virtiofs": {}}]}
    domain = design_guest({"devices": devices}, host=replace(ACCELERATED, virtiofs=True)).domain
    assert domain.backing == MemoryBacking(memfd=True, shared=True)


@pytest.mark.parametrize(
    ("memory", "refusals"),
    [
        pytest.param({}, {"memory.guest": "is required"}, id="no size"),
        pytest.param(
            {"guest": "2Gi", "maxGuest": "1Gi"},
            {"memory.maxGuest": "is less than the 2Gi that the guest starts with"},
            id="maximum below the guest memory",
        ),
        pytest.param(
            {"guest": "1Gi", "hugepages": {"pageSize": "4Mi"}},
            {"memory.hugepages.pageSize": "this host has no huge pages of 4Mi; it has: 2Mi"},
            id="unavailable page size",
        ),
        pytest.param(
            {"guest": "1Gi", "hugepages": {"pageSize": "big"}},
            {"memory.hugepages.pageSize": "this host has no huge pages of big; it has: 2Mi"},
            id="invalid page size",
        ),
        pytest.param(
            {"guest": "1025Mi", "hugepages": {"pageSize": "2Mi"}},
            {"memory.hugepages.pageSize": "the guest's memory is not a multiple of 2Mi"},
            id="memory that is not a multiple of the page size",
        ),
        pytest.param(
            {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}},
            {"memory.hugepages.pageSize": "the guest needs 2048 huge pages of 2Mi; this host has 1024"},
            id="not enough pages",
        ),
        pytest.param(
            {"guest": "1Gi", "reservedOverhead": {"memLock": "Required"}},
            {"memory.reservedOverhead.memLock": "locked memory is not permitted on this host"},
            id="locking not permitted",
        ),
        pytest.param(
            {"guest": "1Gi", "reservedOverhead": {"memLock": "Sometimes"}},
            {"memory.reservedOverhead.memLock": "unsupported value Sometimes: use Required or NotRequired"},
            id="unknown lock policy",
        ),
    ],
)
def test_impossible_memory_settings_are_refused(memory: JsonObject, refusals: dict[str, str]) -> None:
    host = replace(EMULATING, hugepages={"2Mi": 1024, "1Gi": 0})
    assert list_refusals(design_guest({"memory": memory}, host=host)) == refusals


def test_huge_pages_are_refused_on_a_host_without_them() -> None:
    host = replace(EMULATING, hugepages={})
    refusals = list_refusals(design_guest({"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}}, host=host))
    assert refusals == {"memory.hugepages.pageSize": "this host has no huge pages of 2Mi; it has: none"}
