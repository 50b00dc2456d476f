"""The number of instances that fit on nodes in addition to those that already run there."""

from typing import Any

import pytest
from tests.support.caches import FakeCache
from tests.support.instances import build_node, build_vmi

from virtshape.api.wellknown import SCHEDULABLE_LABEL
from virtshape.controllers.runtime.loop import Name
from virtshape.controllers.vmi.capacity import allocate_instances, count_fitting, is_schedulable
from virtshape.controllers.vmi.launcher import SimulatedLauncher
from virtshape.controllers.vmi.nodefit import Demand, measure_demand
from virtshape.controllers.vmi.scheduling import NodePlacement

GI = 2**30


@pytest.mark.parametrize(
    ("demand", "node", "used", "fits", "reasons"),
    [
        (Demand({"cpu": 300, "memory": GI}), {}, {}, 8, ["has 0 of memory left, 1Gi needed"]),
        (Demand({"cpu": 300, "memory": GI}), {}, {"memory": 5 * GI + 1}, 2, ["has 1023Mi of memory left, 1Gi needed"]),
        (Demand({"cpu": 300, "memory": GI}), {}, {"cpu": 3000}, 3, ["has 100m of cpu left, 300m needed"]),
        (
            Demand({"cpu": 1000, "memory": 2 * GI}),
            {},
            {},
            4,
            ["has 0 of cpu left, 1 needed", "has 0 of memory left, 2Gi needed"],
        ),
        (Demand({"cpu": 100, "memory": 0}), {}, {}, 40, ["has 0 of cpu left, 100m needed"]),
        (Demand({"cpu": 100, "x/gpu": 1}), {"x/gpu": "2"}, {"x/gpu": 1}, 1, ["has 0 of x/gpu left, 1 needed"]),
        (Demand({"cpu": 100}), {}, {"cpu": 5000}, 0, ["has 0 of cpu left, 100m needed"]),
        (Demand({"cpu": 100}), {"spec": {"unschedulable": True}}, {}, 0, ["is unschedulable"]),
        (
            Demand({"cpu": 100}, node_selector={"disk": "ssd"}),
            {},
            {},
            0,
            ["does not have the label disk=ssd that the node selector requires"],
        ),
    ],
    ids=["memory", "used memory", "used CPU", "both", "no memory", "devices", "overcommitted", "cordoned", "label"],
)
def test_node_capacity_includes_the_reasons_why_no_more_instances_fit(
    demand: Demand, node: Any, used: dict[str, int], fits: int, reasons: list[str]
) -> None:
    capacity = count_fitting(demand, build_node(**node), used)
    assert capacity[:3] == ("node1", fits, reasons)
    assert [reason.split()[3] for reason in reasons if reason.startswith("has ")] == list(capacity.shortages)


@pytest.mark.parametrize("memory", ["512Mi", "3Gi", "9Gi"])
def test_scheduler_places_as_many_instances_as_count_fitting_returns(memory: str) -> None:
    node = build_node(labels={SCHEDULABLE_LABEL: "true"})
    vmi = build_vmi(domain={"cpu": {"cores": 3}, "memory": {"guest": memory}})
    capacity = count_fitting(measure_demand(vmi.spec), node, {})
    placement = NodePlacement(FakeCache(node), {"node1": SimulatedLauncher()})
    placed = 0
    while (result := placement.place(Name("default", f"vm{placed}"), vmi)).node:
        placed += 1
    assert placed == capacity.fits
    assert result.message == f"0/1 nodes are available: node1 {', '.join(capacity.reasons)}"


def test_waiting_and_finished_instances_use_no_resources_of_a_node() -> None:
    running, waiting, finished = (
        build_vmi(phase, name=name, domain={"memory": {"guest": "1Gi"}})
        for name, phase in (("a", "Running"), ("b", "Pending"), ("c", "Succeeded"))
    )
    for vmi in (running, finished):
        assert vmi.status is not None
        vmi.status.node_name = "node1"
    allocations = allocate_instances([running, waiting, finished], None)
    assert allocations.used("node1") == {"cpu": 100, "memory": GI}


def test_node_is_schedulable_only_if_its_schedulable_label_is_true() -> None:
    assert is_schedulable(build_node(labels={SCHEDULABLE_LABEL: "true"}))
    assert not is_schedulable(build_node(labels={SCHEDULABLE_LABEL: "false"}))
    assert not is_schedulable(build_node())
