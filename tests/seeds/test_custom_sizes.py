"""Example of the custom size design: an instance type without a size, and a VM that sets its own."""

from typing import Any

import pytest
from tests.support.admission import check_vm
from tests.support.build import build_instancetype, build_preference, build_vm

from virtshape.admission.instancetype import check_instancetype
from virtshape.api.codec import to_tree
from virtshape.api.model import JsonObject, Model
from virtshape.catalog import loader
from virtshape.controllers.vm.newvmi import make_instance
from virtshape.offline.objects import Objects
from virtshape.resolve.find import get_shape

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
CUSTOM = build_instancetype(
    "cx1.custom",
    cpu={"dedicatedCPUPlacement": True, "isolateEmulatorThread": True, "numa": {"guestMappingPassthrough": {}}},
    ioThreadsPolicy="auto",
    memory={"hugepages": {"pageSize": "2Mi"}},
)
DOMAIN: JsonObject = {
    "cpu": {
        "sockets": 4,
        "cores": 1,
        "threads": 1,
        "model": "host-model",
        "dedicatedCpuPlacement": True,
        "isolateEmulatorThread": True,
        "numa": {"guestMappingPassthrough": {}},
    },
    "memory": {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}},
    "resources": {"requests": {"memory": "4Gi"}},
    "ioThreadsPolicy": "auto",
}


def find_in_catalog() -> Any:
    found = loader.find("VirtualMachineClusterInstancetype", "cx1.custom")
    assert found is not None
    return found


def start(vm: Any, *objects: Model) -> JsonObject:
    shape = get_shape(vm, Objects(objects).find)
    assert check_vm(vm, shape) == []
    _, spec = make_instance(vm, shape, firmware_uuid=UUID)
    domain: JsonObject = to_tree(spec.domain)
    return {key: domain[key] for key in DOMAIN}


@pytest.mark.parametrize("custom", [CUSTOM, find_in_catalog()], ids=["the example", "the catalog"])
def test_vm_sets_its_own_size_if_the_instancetype_has_no_size(custom: Any) -> None:
    vm = build_vm(instancetype="cx1.custom", cpu_guest=4, memory="4Gi")
    assert start(vm, custom) == DOMAIN


@pytest.mark.parametrize(
    ("topology", "cpu"),
    [
        ("cores", {"sockets": 1, "cores": 4, "threads": 1}),
        ("threads", {"sockets": 1, "cores": 1, "threads": 4}),
        ("spread", {"sockets": 2, "cores": 2, "threads": 1}),
    ],
)
def test_preference_determines_the_topology_of_vcpus_set_by_the_vm(topology: str, cpu: JsonObject) -> None:
    preference = build_preference("layout", cpu={"preferredCPUTopology": topology})
    vm = build_vm(instancetype="cx1.custom", preference="layout", cpu_guest=4, memory="4Gi")
    assert start(vm, CUSTOM, preference) == {**DOMAIN, "cpu": {**DOMAIN["cpu"], **cpu}}


@pytest.mark.parametrize("member", ["cores", "sockets", "threads"])
def test_cpu_topology_is_rejected_with_an_instancetype_without_a_size(member: str) -> None:
    vm = build_vm(instancetype="cx1.custom", domain={"cpu": {member: 4}}, memory="4Gi")
    conflicts = check_vm(vm, get_shape(vm, Objects([CUSTOM]).find))
    assert [conflict.fields for conflict in conflicts] == [(f"spec.template.spec.domain.cpu.{member}",)]


def test_v1beta2_instancetype_may_omit_sizes_that_v1beta1_requires() -> None:
    assert check_instancetype(CUSTOM.spec, "v1beta2").causes == []
    assert [cause.field for cause in check_instancetype(CUSTOM.spec, "v1beta1").causes] == [
        "spec.cpu.guest",
        "spec.memory.guest",
    ]


def test_vcpus_are_sockets_without_a_preference() -> None:
    _, spec = make_instance(
        build_vm(cpu_guest=4, memory="4Gi"), get_shape(build_vm(), Objects().find), firmware_uuid=UUID
    )
    assert to_tree(spec.domain.cpu) == {"sockets": 4, "cores": 1, "threads": 1, "model": "host-model"}
