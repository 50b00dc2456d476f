"""Resource demand of instances and fit on nodes."""

from typing import Any

import pytest
from tests.support.build import build_spec
from tests.support.instances import build_node

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.controllers.vmi.nodefit import Allocations, Demand, check_fit, explain_unschedulable, measure_demand

GI = 2**30


@pytest.mark.parametrize(
    ("domain", "amounts"),
    [
        ({"memory": {"guest": "1Gi"}}, {"cpu": 100, "memory": GI}),
        ({"cpu": {"sockets": 2, "cores": 2}, "memory": {"guest": "1Gi"}}, {"cpu": 400, "memory": GI}),
        (
            {"memory": {"guest": "2Gi"}, "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
            {"cpu": 500, "memory": GI},
        ),
        (
            {"cpu": {"sockets": 2, "dedicatedCpuPlacement": True}, "memory": {"guest": "1Gi"}},
            {"cpu": 2000, "memory": GI},
        ),
        (
            {"cpu": {"cores": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}},
            {"cpu": 3000, "memory": 0},
        ),
        ({"memory": {"guest": "2Gi", "hugepages": {"pageSize": "1Gi"}}}, {"cpu": 100, "hugepages-1Gi": 2 * GI}),
        (
            {
                "devices": {
                    "gpus": [{"name": "a", "deviceName": "x/gpu"}, {"name": "b", "deviceName": "x/gpu"}],
                    "hostDevices": [{"name": "c", "deviceName": "x/nic"}],
                }
            },
            {"cpu": 100, "memory": 0, "x/gpu": 2, "x/nic": 1},
        ),
    ],
    ids=["small", "shared vCPUs", "requests", "dedicated CPUs", "CPU for the emulator", "hugepages", "devices"],
)
def test_resource_demand_of_an_instance_is_calculated(domain: JsonObject, amounts: dict[str, int]) -> None:
    assert measure_demand(build_spec(domain)).amounts == amounts


def test_demand_for_special_resources_names_the_field_that_causes_it() -> None:
    domain = {
        "cpu": {"cores": 1, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True},
        "memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}},
        "devices": {
            "gpus": [{"name": "a", "deviceName": "x/gpu"}],
            "hostDevices": [{"name": "c", "deviceName": "x/nic"}],
        },
    }
    assert measure_demand(build_spec(domain)).because == {
        "cpu": "spec.domain.cpu.dedicatedCpuPlacement and isolateEmulatorThread",
        "hugepages-2Mi": "spec.domain.memory.hugepages",
        "x/gpu": "spec.domain.devices.gpus",
        "x/nic": "spec.domain.devices.hostDevices",
    }


def test_cpu_allocation_ratio_is_configurable() -> None:
    configuration = from_tree({"developerConfiguration": {"cpuAllocationRatio": 1}}, KubeVirtConfiguration)
    assert measure_demand(build_spec({"cpu": {"cores": 3}}), configuration).amounts["cpu"] == 3000


@pytest.mark.parametrize(
    ("demand", "node", "used", "reasons"),
    [
        (Demand({"cpu": 4000, "memory": 8 * GI}), {}, {}, []),
        (Demand({"cpu": 1500}), {}, {"cpu": 3000}, ["has 1 of cpu left, 1500m needed"]),
        (Demand({"memory": 4 * GI}), {}, {"memory": 5 * GI}, ["has 3Gi of memory left, 4Gi needed"]),
        (Demand({"hugepages-2Mi": GI}), {}, {}, ["has 0 of hugepages-2Mi left, 1Gi needed"]),
        (Demand({"hugepages-2Mi": GI}), {"hugepages-2Mi": "1Gi"}, {}, []),
        (Demand({"x/gpu": 2}), {"x/gpu": "1"}, {}, ["has 1 of x/gpu left, 2 needed"]),
        (Demand({}, dedicated=True), {}, {}, ["does not offer dedicated CPUs (no label cpumanager=true)"]),
        (Demand({}, dedicated=True), {"labels": {"cpumanager": "true"}}, {}, []),
        (
            Demand({}, node_selector={"disk": "ssd"}),
            {"labels": {"disk": "hdd"}},
            {},
            ["does not have the label disk=ssd that the node selector requires"],
        ),
        (
            Demand({"cpu": 5000}, because={"cpu": "spec.domain.cpu.dedicatedCpuPlacement"}),
            {},
            {},
            ["has 4 of cpu left, 5 needed by spec.domain.cpu.dedicatedCpuPlacement"],
        ),
        (
            Demand({}),
            {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
            {},
            ["has the untolerated taint a"],
        ),
        (Demand({}), {"spec": {"unschedulable": True}}, {}, ["is unschedulable"]),
    ],
)
def test_reasons_why_an_instance_does_not_fit_a_node_are_listed(
    demand: Demand, node: Any, used: dict[str, int], reasons: list[str]
) -> None:
    assert check_fit(demand, build_node(**node), used) == reasons


def test_unschedulable_message_names_all_nodes_with_reasons() -> None:
    assert explain_unschedulable({"a": ["is full"], "b": ["is slow", "is far"]}) == (
        "0/2 nodes are available: a is full; b is slow, is far"
    )
    assert explain_unschedulable({}) == "no node runs instances: no launcher is running"


def test_node_allocations_count_each_instance_once() -> None:
    allocations, demand = Allocations(), Demand({"cpu": 100})
    allocations.place("a", "n1", demand)
    allocations.place("a", "n1", demand)
    allocations.place("b", "n1", Demand({"cpu": 200}))
    assert allocations.used("n1") == {"cpu": 300}
    allocations.place("a", "n2", demand)
    assert (allocations.used("n1"), allocations.used("n2")) == ({"cpu": 200}, {"cpu": 100})
    allocations.release("b")
    allocations.release("never placed")
    assert allocations.used("n1") == {"cpu": 0}
