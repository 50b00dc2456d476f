"""The number of vCPUs, and sockets for CPU hotplug."""

import pytest
from msgspec.structs import replace
from tests.support.domains import ACCELERATED, build_guest, design_guest, list_notes, list_refusals

from virtshape.api.hotpluglimits import MAX_SOCKETS_ANNOTATION
from virtshape.api.model import JsonObject
from virtshape.launcher.design.topology import lay_out_vcpus
from virtshape.launcher.domain.cpu import Topology, Vcpu, Vcpus


@pytest.mark.parametrize(
    ("domain", "topology"),
    [
        pytest.param({}, Topology(), id="one by default"),
        pytest.param({"cpu": {"sockets": 3, "cores": 2}}, Topology(3, 2, 1), id="as given"),
        pytest.param({"cpu": {"threads": 2}}, Topology(1, 1, 2), id="absent members are one"),
        pytest.param({"cpu": {"guest": 4}}, Topology(4), id="number becomes sockets"),
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, Topology(2), id="the request"),
        pytest.param({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}}, Topology(3), id="the limit"),
        pytest.param({"resources": {"limits": {"cpu": "500m"}}}, Topology(1), id="fraction is rounded up"),
        pytest.param(
            {"cpu": {"cores": 2}, "resources": {"limits": {"cpu": "8"}}}, Topology(1, 2, 1), id="cpu before resources"
        ),
    ],
)
def test_vcpu_topology_comes_from_cpu_or_resources(domain: JsonObject, topology: Topology) -> None:
    assert lay_out_vcpus(build_guest(domain).spec.domain) == topology


def test_hotpluggable_sockets_are_present_but_disabled() -> None:
    domain = design_guest({"cpu": {"sockets": 2, "threads": 2, "maxSockets": 3}}).domain
    assert domain.cpu.topology == Topology(3, 1, 2)
    assert domain.vcpus == Vcpus(
        current=4,
        maximum=6,
        each=(
            Vcpu(0, enabled=True, hotpluggable=False),
            Vcpu(1, enabled=True, hotpluggable=False),
            Vcpu(2, enabled=True, hotpluggable=True),
            Vcpu(3, enabled=True, hotpluggable=True),
            Vcpu(4, enabled=False, hotpluggable=True),
            Vcpu(5, enabled=False, hotpluggable=True),
        ),
    )


@pytest.mark.parametrize("most", [None, 2])
def test_vcpus_are_not_listed_separately_without_hotplug(most: int | None) -> None:
    domain = design_guest({"cpu": {"sockets": 2, "maxSockets": most}}).domain
    assert domain.vcpus == Vcpus(current=2, maximum=2)


@pytest.mark.parametrize(
    ("cpu", "refusals"),
    [
        pytest.param(
            {"sockets": 4, "maxSockets": 2},
            {"cpu.maxSockets": "is less than the 4 sockets that the guest starts with"},
            id="maxSockets below sockets",
        ),
        pytest.param(
            {"sockets": 256},
            {"cpu": "results in 256 vCPUs; the machine type pc-q35-7.2 supports 255 at most"},
            id="too many",
        ),
        pytest.param(
            {"sockets": 64, "maxSockets": 256},
            {"cpu.maxSockets": "results in 256 vCPUs; the machine type pc-q35-7.2 supports 255 at most"},
            id="too many after hotplug",
        ),
    ],
)
def test_impossible_numbers_of_vcpus_are_refused(cpu: JsonObject, refusals: dict[str, str]) -> None:
    assert list_refusals(design_guest({"cpu": cpu})) == refusals


def test_vcpus_are_limited_by_the_machine_type() -> None:
    host = replace(ACCELERATED, max_vcpus={"pc-q35-7.2": 8})
    refusals = list_refusals(design_guest({"cpu": {"cores": 16}}, host=host))
    assert refusals == {"cpu": "results in 16 vCPUs; the machine type pc-q35-7.2 supports 8 at most"}


def test_arm64_guests_have_no_cpu_hotplug() -> None:
    host = replace(ACCELERATED, architecture="arm64", machine_types=frozenset({"virt"}))
    design = design_guest({"cpu": {"sockets": 2, "maxSockets": 4}}, host=host)
    assert design.domain.vcpus == Vcpus(current=2, maximum=2)
    assert list_notes(design) == {"cpu.maxSockets": "CPU hotplug is not supported for this architecture"}


@pytest.mark.parametrize(
    ("annotation", "sockets"),
    [("8", 8), ("1", 2), ("9999", 255), ("many", 2), ("0", 2), ("9" * 20, 2)],
    ids=["more", "fewer than at start", "more than the machine type has", "not a number", "zero", "too long"],
)
def test_default_socket_limit_is_capped_and_ignored_if_it_is_invalid(annotation: str, sockets: int) -> None:
    design = design_guest({"cpu": {"sockets": 2}}, annotations={MAX_SOCKETS_ANNOTATION: annotation})
    assert (design.domain.cpu.topology.sockets, design.refusals) == (sockets, ())


def test_max_sockets_of_the_instance_overrides_the_default_limit() -> None:
    design = design_guest({"cpu": {"sockets": 2, "maxSockets": 3}}, annotations={MAX_SOCKETS_ANNOTATION: "8"})
    assert design.domain.cpu.topology.sockets == 3
