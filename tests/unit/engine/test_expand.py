"""Expansion writes all fields into the VM, removes its references and changes nothing else."""

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec, build_vm

from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.model import JsonObject
from virtshape.engine.expand import Shape, expand_vm

ONE: JsonObject = {"sockets": 1, "cores": 1, "threads": 1}
SMALL = build_instancetype_spec()
LINUX = build_preference_spec(devices={"preferredDiskBus": "virtio"})
REVISION = {"name": "x", "controllerRevisionRef": {"name": "r"}}


def test_expand_writes_every_field() -> None:
    vm = build_vm(
        instancetype="small",
        preference="linux",
        template={"volumes": [{"name": "root", "containerDisk": {"image": "fedora:40"}}]},
        status={"created": True, "instancetypeRef": REVISION, "preferenceRef": REVISION, "flavorRef": REVISION},
    )
    assert expand_vm(vm, Shape(SMALL, LINUX)) == []
    assert to_tree(vm) == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm1"},
        "spec": {
            "runStrategy": "Always",
            "template": {
                "spec": {
                    "architecture": "amd64",
                    "domain": {
                        "cpu": {"sockets": 2, "cores": 1, "threads": 1},
                        "memory": {"guest": "2Gi"},
                        "machine": {"type": "q35"},
                        "devices": {
                            "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                            "interfaces": [{"name": "default", "bridge": {}}],
                        },
                    },
                    "networks": [{"name": "default", "pod": {}}],
                    "volumes": [
                        {"name": "root", "containerDisk": {"image": "fedora:40", "imagePullPolicy": "IfNotPresent"}}
                    ],
                    "evictionStrategy": "None",
                }
            },
        },
        "status": {"created": True},
    }


def test_expand_removes_the_reference_to_a_flavor() -> None:
    vm = build_vm(flavor="tiny")
    assert expand_vm(vm, Shape(SMALL, None, "cores")) == []
    assert vm.spec.flavor is None


@pytest.mark.parametrize(
    "template",
    [{"metadata": None, "spec": None}, {"spec": {"domain": {"devices": {}}}}],
    ids=["no spec", "no metadata"],
)
def test_expand_leaves_a_vm_without_matchers_unchanged(template: JsonObject) -> None:
    vm = build_vm()
    vm = from_tree({**to_tree(vm), "spec": {"running": False, "template": template}}, type(vm))
    before = encode(vm)
    assert expand_vm(vm, Shape()) == []
    assert encode(vm) == before


def test_only_cpu_guest_is_expanded_in_a_vm_without_matchers() -> None:
    vm = build_vm(cpu_guest=4, memory="1Gi")
    assert expand_vm(vm, Shape()) == []
    assert to_tree(vm) == to_tree(build_vm(domain={"cpu": {**ONE, "sockets": 4}}, memory="1Gi"))


def test_cpu_guest_of_a_vm_without_matchers_is_checked() -> None:
    vm = build_vm(cpu_guest=0, domain={"cpu": {"cores": 2}})
    assert [c.fields for c in expand_vm(vm, Shape())] == [
        ("spec.template.spec.domain.cpu.guest",),
        ("spec.template.spec.domain.cpu.cores",),
    ]


@pytest.mark.parametrize(
    ("shape", "cpu"),
    [
        (Shape(preference=build_preference_spec(cpu={"preferredCPUTopology": "cores"})), {**ONE, "cores": 4}),
        (Shape(build_instancetype_spec(cpu=None, memory=None)), {**ONE, "sockets": 4}),
        (Shape(build_instancetype_spec(cpu=None, memory=None), LINUX, "cores"), {**ONE, "cores": 4}),
    ],
    ids=["preference alone", "no size", "flavor layout"],
)
def test_cpu_guest_is_replaced_with_a_topology_and_overrides_requests(shape: Shape, cpu: JsonObject) -> None:
    resources = {} if shape.instancetype else {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}}
    vm = build_vm(cpu_guest=4, memory="1Gi", domain={"resources": resources})
    assert expand_vm(vm, shape) == []
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.cpu) == cpu


@pytest.mark.parametrize("memory", [None, "1Gi"])
def test_unset_vcpus_default_to_one(memory: str | None) -> None:
    vm = build_vm(memory=memory or "2Gi")
    assert expand_vm(vm, Shape(build_instancetype_spec(cpu=None, memory=None))) == []
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.cpu) == ONE


def test_annotations_create_missing_template_metadata() -> None:
    vm = build_vm()
    assert expand_vm(vm, Shape(build_instancetype_spec(annotations={"a": "1"}))) == []
    assert to_tree(vm.spec.template.metadata) == {"annotations": {"a": "1"}}


def test_expand_does_not_check_requirements() -> None:
    vm = build_vm()
    assert expand_vm(vm, Shape(SMALL, build_preference_spec(requirements={"cpu": {"guest": 64}}))) == []


def test_conflicting_vm_keeps_its_references() -> None:
    vm = build_vm(instancetype="small", domain={"cpu": {"cores": 2}})
    assert [c.fields for c in expand_vm(vm, Shape(SMALL))] == [("spec.template.spec.domain.cpu.cores",)]
    assert vm.spec.instancetype is not None


def test_default_network_that_is_not_permitted_is_a_conflict() -> None:
    configuration = from_tree({"network": {"permitBridgeInterfaceOnPodNetwork": False}}, KubeVirtConfiguration)
    vm = build_vm(instancetype="small")
    assert [c.fields for c in expand_vm(vm, Shape(SMALL), configuration)] == [()]


def test_default_interface_is_added_before_the_preference_applies() -> None:
    preference = build_preference_spec(
        devices={
            "preferredAutoattachPodInterface": False,
            "preferredInterfaceMasquerade": {},
            "preferredInterfaceModel": "e1000",
        }
    )
    vm = build_vm()
    assert expand_vm(vm, Shape(None, preference)) == []
    assert vm.spec.template.spec is not None
    assert to_tree(vm.spec.template.spec.domain.devices) == {
        "autoattachPodInterface": False,
        "interfaces": [{"name": "default", "bridge": {}, "model": "e1000"}],
    }


def test_expand_uses_defaults_of_the_configuration_and_architecture() -> None:
    configuration = from_tree({"evictionStrategy": "LiveMigrate", "cpuRequest": "200m"}, KubeVirtConfiguration)
    vm = build_vm()
    assert expand_vm(vm, Shape(SMALL), configuration, "arm64") == []
    spec = vm.spec.template.spec
    assert spec is not None
    assert (spec.architecture, spec.eviction_strategy) == ("arm64", "LiveMigrate")
    assert to_tree(spec.domain.resources) == {"requests": {"cpu": "200m"}}
    assert to_tree(spec.domain.machine) == {"type": "virt"}
