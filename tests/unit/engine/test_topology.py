"""Distribution of vCPUs over sockets, cores and threads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.build import build_preference_spec

from virtshape.api.codec import from_tree
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.instancetype.v1beta2 import CPUInstancetype
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.model import JsonObject
from virtshape.engine.topology import (
    ACROSS,
    DEPRECATED_TOPOLOGIES,
    TOPOLOGIES,
    Layout,
    Topology,
    check_spread,
    count_vcpus,
    lay_out_vcpus,
    preferred_topology,
    read_topology,
)

MAX_VCPUS = 2**32 - 1
RATIO = "Spec.PreferSpreadSocketToCoreRatio or Spec.CPU.PreferSpreadOptions.Ratio of"


def prefer(name: str | None, ratio: int | None = None, across: str | None = None, legacy: int | None = None) -> Any:
    options: JsonObject = {"ratio": ratio, "across": across}
    return build_preference_spec(
        cpu={"preferredCPUTopology": name, "spreadOptions": options}, preferSpreadSocketToCoreRatio=legacy
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sockets", Topology(sockets=6)),
        ("cores", Topology(cores=6)),
        ("threads", Topology(threads=6)),
        ("any", Topology(sockets=6)),
        ("spread", Topology(sockets=3, cores=2)),
        ("", Topology(sockets=6)),
        (None, Topology(sockets=6)),
        ("diagonal", Topology()),
    ],
)
def test_vcpus_follow_the_preferred_topology(name: str | None, expected: Topology) -> None:
    assert lay_out_vcpus(6, prefer(name)) == expected


@pytest.mark.parametrize(("old", "new"), DEPRECATED_TOPOLOGIES.items())
def test_deprecated_topology_name_has_the_effect_of_its_successor(old: str, new: str) -> None:
    assert preferred_topology(prefer(old)) == new
    assert lay_out_vcpus(6, prefer(old)) == lay_out_vcpus(6, prefer(new))


@pytest.mark.parametrize(("layout", "expected"), [("sockets", Topology(sockets=6)), ("cores", Topology(cores=6))])
@pytest.mark.parametrize(
    "preference",
    [None, build_preference_spec(), build_preference_spec(cpu={}), build_preference_spec(devices={})],
    ids=["no preference", "nothing preferred", "no topology preferred", "only devices preferred"],
)
def test_default_vcpu_layout_applies_without_a_preferred_topology(
    preference: VirtualMachinePreferenceSpec | None, layout: Layout, expected: Topology
) -> None:
    assert lay_out_vcpus(6, preference, layout) == expected


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_preferred_topology_overrides_the_default_vcpu_layout(name: str) -> None:
    assert lay_out_vcpus(6, prefer(name), "cores") == lay_out_vcpus(6, prefer(name), "sockets")


@pytest.mark.parametrize("name", [*TOPOLOGIES, *DEPRECATED_TOPOLOGIES])
@pytest.mark.parametrize("across", ACROSS)
def test_one_vcpu_gets_one_socket_core_and_thread(name: str, across: str) -> None:
    assert lay_out_vcpus(1, prefer(name, across=across)) == Topology(1, 1, 1)


@pytest.mark.parametrize(
    ("vcpus", "preference", "expected"),
    [
        pytest.param(8, prefer("spread"), Topology(4, 2, 1), id="ratio 2 by default"),
        pytest.param(8, prefer("spread", ratio=4), Topology(2, 4, 1), id="ratio of the options"),
        pytest.param(8, prefer("spread", legacy=4), Topology(2, 4, 1), id="ratio of the deprecated field"),
        pytest.param(
            8, prefer("spread", ratio=2, legacy=4), Topology(4, 2, 1), id="options override the deprecated field"
        ),
        pytest.param(8, prefer("spread", legacy=0), Topology(4, 2, 1), id="deprecated ratio 0"),
        pytest.param(8, prefer("spread", ratio=0), Topology(8, 1, 1), id="ratio 0"),
        pytest.param(8, prefer("spread", ratio=1), Topology(8, 1, 1), id="ratio 1"),
        pytest.param(8, prefer("spread", across="SocketsCores"), Topology(4, 2, 1), id="sockets and cores"),
        pytest.param(8, prefer("spread", across="CoresThreads"), Topology(1, 4, 2), id="cores and threads"),
        pytest.param(8, prefer("spread", across="SocketsCoresThreads"), Topology(2, 2, 2), id="all three"),
        pytest.param(24, prefer("spread", 3, "SocketsCoresThreads"), Topology(4, 3, 2), id="all three, ratio 3"),
        pytest.param(8, prefer("spread", across="Nodes"), Topology(), id="across unknown"),
        pytest.param(5, prefer("spread"), Topology(2, 2, 1), id="remainder that admission rejects"),
        pytest.param(3, prefer("spread", 4), Topology(0, 4, 1), id="fewer vCPUs than the ratio"),
    ],
)
def test_spread_distributes_vcpus_by_ratio(
    vcpus: int, preference: VirtualMachinePreferenceSpec, expected: Topology
) -> None:
    assert lay_out_vcpus(vcpus, preference) == expected


@pytest.mark.parametrize("name", ["sockets", "cores", "threads", "any"])
def test_maximum_vcpu_count_is_distributed(name: str) -> None:
    assert lay_out_vcpus(MAX_VCPUS, prefer(name)).vcpus == MAX_VCPUS


@given(st.integers(1, MAX_VCPUS), st.sampled_from(TOPOLOGIES), st.sampled_from(ACROSS), st.integers(1, 64))
def test_evenly_divisible_vcpus_are_all_laid_out(vcpus: int, name: str, across: str, ratio: int) -> None:
    preference = prefer(name, ratio, across)
    topology = lay_out_vcpus(vcpus, preference)
    if check_spread(vcpus, "f", "somebody", preference) is None:
        assert topology.vcpus == vcpus
    else:
        assert topology.vcpus <= vcpus or vcpus < ratio


@pytest.mark.parametrize(
    ("tree", "expected", "text"),
    [
        ({"sockets": 3, "cores": 2, "threads": 1}, Topology(3, 2, 1), "3x2x1"),
        ({"sockets": 3}, Topology(3, 1, 1), "3x1x1"),
        ({"cores": 4}, Topology(1, 4, 1), "1x4x1"),
        ({"threads": 2}, Topology(1, 1, 2), "1x1x2"),
        ({}, Topology(1, 1, 1), "1x1x1"),
        ({"sockets": 0, "cores": 2, "threads": 0}, Topology(1, 2, 1), "1x2x1"),
        ({"sockets": MAX_VCPUS, "cores": MAX_VCPUS}, Topology(MAX_VCPUS, MAX_VCPUS, 1), f"{MAX_VCPUS}x{MAX_VCPUS}x1"),
    ],
)
def test_absent_or_zero_topology_fields_count_as_one(tree: JsonObject, expected: Topology, text: str) -> None:
    topology = read_topology(from_tree(tree, CPUTopology))
    assert (topology, str(topology)) == (expected, text)


@pytest.mark.parametrize(
    ("tree", "vcpus"),
    [
        (None, 0),
        ({}, 0),
        ({"guest": 0}, 0),
        ({"guest": 4}, 4),
        ({"topology": {}}, 1),
        ({"topology": {"sockets": 3, "cores": 2, "threads": 2}}, 12),
        ({"topology": {"sockets": MAX_VCPUS, "cores": MAX_VCPUS, "threads": MAX_VCPUS}}, MAX_VCPUS**3),
        ({"guest": 5, "topology": {"cores": 2}}, 2),
    ],
)
def test_vcpus_of_an_instance_type_are_its_count_or_topology(tree: JsonObject | None, vcpus: int) -> None:
    assert count_vcpus(None if tree is None else from_tree(tree, CPUInstancetype)) == vcpus


@pytest.mark.parametrize(
    ("vcpus", "preference", "message"),
    [
        pytest.param(5, None, None, id="no preference"),
        pytest.param(5, prefer("cores"), None, id="no spread"),
        pytest.param(4, prefer("spread"), None, id="even"),
        pytest.param(
            5,
            prefer("spread"),
            f"by the {RATIO} 2 provided by the preference",
            id="odd over sockets and cores",
        ),
        pytest.param(5, prefer("spread", 2, "CoresThreads"), "by the number of threads per core 2", id="odd threads"),
        pytest.param(
            6,
            prefer("spread", 2, "SocketsCoresThreads"),
            f"by the number of threads per core 2 and {RATIO} 2",
            id="six over all three",
        ),
        pytest.param(
            4,
            prefer("spread", 0),
            f"by the {RATIO} 0 provided by the preference",
            id="ratio 0",
        ),
        pytest.param(5, prefer("spread", across="Nodes"), None, id="across unknown"),
    ],
)
def test_only_an_uneven_spread_is_a_conflict(
    vcpus: int, preference: VirtualMachinePreferenceSpec | None, message: str | None
) -> None:
    conflict = check_spread(vcpus, "spec.where", "the VM", preference)
    if message is None:
        assert conflict is None
    else:
        assert conflict is not None
        assert conflict.fields == ("spec.where",)
        assert conflict.message == f"{vcpus} vCPUs provided by the VM are not divisible {message}"
