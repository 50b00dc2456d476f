"""Resources of pods, counted as kube-scheduler counts them."""

from typing import Any

import pytest
from tests.support.build import build_spec
from tests.support.instances import build_node

from virtshape.api.codec import from_tree
from virtshape.api.core.podspec import Pod, PodSpec
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.controllers.pods.capacity import allocate_pods, measure_launcher_demand, measure_pod
from virtshape.controllers.vmi.capacity import count_fitting

MI = 2**20


def build_container(name: str, *, restart_policy: str | None = None, **requests: str) -> JsonObject:
    return {"name": name, "resources": {"requests": requests}, "restartPolicy": restart_policy}


@pytest.mark.parametrize(
    ("spec", "amounts"),
    [
        (
            {"containers": [build_container("a", cpu="1", memory="1Mi"), build_container("b", cpu="500m")]},
            {"cpu": 1500, "memory": MI},
        ),
        ({"containers": [{"name": "a"}]}, {}),
        (
            {
                "containers": [build_container("a", cpu="1")],
                "initContainers": [build_container("i", cpu="3"), build_container("j", cpu="2", memory="1Mi")],
            },
            {"cpu": 3000, "memory": MI},
        ),
        (
            {
                "containers": [build_container("a", cpu="1")],
                "initContainers": [
                    build_container("s", cpu="1", restart_policy="Always"),
                    build_container("i", cpu="2"),
                ],
            },
            {"cpu": 3000},
        ),
        (
            {"containers": [build_container("a", cpu="1")], "overhead": {"cpu": "250m", "memory": "1Mi"}},
            {"cpu": 1250, "memory": MI},
        ),
    ],
    ids=["containers", "no requests", "init container", "sidecar", "overhead"],
)
def test_pod_resources_are_counted_as_by_kube_scheduler(spec: JsonObject, amounts: dict[str, int]) -> None:
    assert measure_pod(from_tree(spec, PodSpec)) == {"pods": 1, **amounts}


def build_pod(name: str, phase: str, node: str | None = "node1") -> Pod:
    tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": node, "containers": [build_container("a", cpu="1")]},
        "status": {"phase": phase},
    }
    return from_tree(tree, Pod)


def test_finished_and_unscheduled_pods_use_no_resources_of_a_node() -> None:
    pods = [build_pod("a", "Running"), build_pod("b", "Pending"), build_pod("c", "Succeeded"), build_pod("d", "Failed")]
    allocations = allocate_pods([*pods, build_pod("e", "Pending", None)])
    assert allocations.used("node1") == {"pods": 2, "cpu": 2000}


def test_demand_of_an_instance_equals_the_requests_of_its_launcher_pod() -> None:
    demand = measure_launcher_demand(build_spec({"memory": {"guest": "1Gi"}}), None)
    assert demand.amounts == {
        "pods": 1,
        "cpu": 100,
        "memory": 1294 * MI,
        "ephemeral-storage": 50_000_000,
        "devices.kubevirt.io/kvm": 1,
    }
    assert demand.node_selector == {"kubernetes.io/arch": "amd64"}


def test_emulated_guests_need_no_kvm_device() -> None:
    configuration = from_tree({"developerConfiguration": {"useEmulation": True}}, KubeVirtConfiguration)
    demand = measure_launcher_demand(build_spec({"memory": {"guest": "1Gi"}}), configuration)
    assert "devices.kubevirt.io/kvm" not in demand.amounts


@pytest.mark.parametrize(
    ("offered", "fits", "reason"),
    [
        ({"pods": "2"}, 2, "has 0 of pods left, 1 needed"),
        ({"memory": "3Gi"}, 2, "has 484Mi of memory left, 1294Mi needed"),
        ({"ephemeral-storage": "120M"}, 2, "has 19Mi of ephemeral-storage left, 47Mi needed"),
        ({"devices.kubevirt.io/kvm": "0"}, 0, "has 0 of devices.kubevirt.io/kvm left, 1 needed"),
    ],
    ids=["pods", "memory with overhead", "ephemeral storage", "KVM"],
)
def test_launcher_pods_fit_until_any_resource_of_the_node_runs_out(
    offered: dict[str, Any], fits: int, reason: str
) -> None:
    ample = {"pods": "110", "ephemeral-storage": "10Gi", "devices.kubevirt.io/kvm": "1k"}
    node = build_node(labels={"kubernetes.io/arch": "amd64"}, **{**ample, **offered})
    capacity = count_fitting(measure_launcher_demand(build_spec({"memory": {"guest": "1Gi"}}), None), node, {})
    assert (capacity.fits, capacity.reasons) == (fits, [reason])
