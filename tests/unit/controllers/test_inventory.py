"""Summaries of VMs and instances for metrics."""

import pytest
from tests.support.build import build_vm
from tests.support.instances import build_vmi

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.controllers.inventory import (
    NONE,
    Guest,
    Source,
    System,
    VmiSummary,
    VmSummary,
    summarize_vm,
    summarize_vmi,
)


def test_summary_of_a_vm_with_an_instance_type_has_the_size_in_its_status() -> None:
    vm = build_vm(
        name="web",
        namespace="prod",
        instancetype="u1.large",
        preference="fedora",
        domain={"machine": {"type": "q35"}},
        annotations={"vm.kubevirt.io/os": "fedora", "vm.kubevirt.io/workload": "server"},
        status={"printableStatus": "Running", "effective": {"vcpus": 4, "memory": "8Gi", "topology": "2x2x1"}},
    )
    assert summarize_vm(vm) == VmSummary(
        namespace="prod",
        name="web",
        status="running",
        status_group="running",
        source=Source("u1.large", "fedora"),
        system=System("fedora", "server"),
        machine_type="q35",
        vcpus=4,
        topology=(2, 2, 1),
        is_default_topology=False,
        memory=8 << 30,
        requests={},
        limits={},
    )


def test_summary_of_a_vm_without_an_instance_type_has_its_requests_and_limits() -> None:
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    found = summarize_vm(build_vm(domain={"resources": resources}))
    assert (found.requests, found.limits) == ({"cpu": 0.5, "memory": 1 << 30}, {"memory": 2 << 30})
    assert (found.source, found.vcpus, found.memory, found.topology) == (Source(), None, None, None)
    assert found.is_default_topology
    assert not summarize_vm(build_vm(domain={"cpu": {"cores": 2}})).is_default_topology


def test_flavor_is_reported_as_instance_type() -> None:
    assert summarize_vm(build_vm(flavor="small")).source == Source("small", NONE)


GROUPS = {
    "Provisioning": "starting",
    "Migrating": "migrating",
    "Paused": "non_running",
    "ErrorUnschedulable": "error",
    "SomethingNew": "<unknown>",
    "": "<unknown>",
}


@pytest.mark.parametrize(("status", "group"), GROUPS.items())
def test_printable_status_is_mapped_to_a_status_group(status: str, group: str) -> None:
    found = summarize_vm(build_vm(status={"printableStatus": status}))
    assert (found.status, found.status_group) == (status.lower(), group)


def test_summary_of_an_instance_has_annotated_names_and_guest_system() -> None:
    annotations = {"kubevirt.io/cluster-instancetype-name": "u1.small", "kubevirt.io/preference-name": "own"}
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "web", "namespace": "prod", "annotations": annotations},
        "spec": {"domain": {"devices": {}}},
        "status": {
            "phase": "Running",
            "nodeName": "node1",
            "machine": {"type": "pc-q35-9.2"},
            "guestOSInfo": {"name": "Fedora", "versionId": "42", "kernelRelease": "6.1", "machine": "x86_64"},
        },
    }
    assert summarize_vmi(from_tree(tree, VirtualMachineInstance)) == VmiSummary(
        namespace="prod",
        name="web",
        node="node1",
        phase="running",
        source=Source("u1.small", "own"),
        system=System(),
        guest=Guest("Fedora", "42", "6.1", "x86_64", "pc-q35-9.2"),
    )


def test_summary_of_a_new_instance_has_no_phase_and_no_guest_system() -> None:
    found = summarize_vmi(build_vmi())
    assert (found.phase, found.node, found.guest) == ("", "", Guest())
