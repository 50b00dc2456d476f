"""The instance that starts a VM: name, labels, owner and firmware UUID."""

from typing import Any

import pytest
from tests.support.build import build_instancetype_spec, build_preference_spec, build_vm

from virtshape.api.codec import encode, from_tree, to_tree
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.times import format_time, parse_time
from virtshape.api.wellknown import OBSERVED_VERSIONS
from virtshape.controllers.vm.newvmi import (
    annotate_names,
    build_instance,
    firmware_uuid,
    has_other_revisions,
    make_instance,
    name_start_revision_of,
)
from virtshape.controllers.vm.revisionobjects import (
    name_start_revision,
)
from virtshape.engine.expand import Shape

UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"
SMALL = build_instancetype_spec(gpus=[{"name": "g"}], annotations={"from": "type"})
LINUX = build_preference_spec(
    devices={"preferredDiskBus": "virtio", "preferredVirtualGPUOptions": {}, "preferredRng": {}},
    features={"preferredSmm": {}, "preferredHyperv": {"vapic": {}}},
    clock={"preferredTimer": {"hpet": {}}},
)
VOLUMES: JsonObject = {"volumes": [{"name": "root", "containerDisk": {"image": "fedora:40"}}]}


def build_owner(uid: str = "u1") -> VirtualMachine:
    vm = build_vm(instancetype="small", namespace="ns", annotations={"own": "1"})
    vm.metadata.uid, vm.metadata.generation = uid, 4
    return vm


def test_new_instance_has_owner_and_generation() -> None:
    vm = build_owner()
    vmi = build_instance(vm, Shape(build_instancetype_spec()), None)
    assert to_tree(vmi.metadata) == {
        "name": "vm1",
        "namespace": "ns",
        "labels": {"vm.kubevirt.io/name": "vm1"},
        "annotations": {
            "own": "1",
            "kubevirt.io/cluster-instancetype-name": "small",
            **OBSERVED_VERSIONS,
            "kubevirt.io/vm-generation": "4",
        },
        "ownerReferences": [
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachine",
                "name": "vm1",
                "uid": "u1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        "finalizers": ["kubevirt.io/foregroundDeleteVirtualMachine"],
    }
    assert name_start_revision_of(vmi) == name_start_revision(vm) == "revision-start-vm-u1-4"


def build_captured(size: str, *, in_spec: bool = False) -> VirtualMachine:
    """Return a VM whose status names its revisions, and whose spec names that of its instance type with `in_spec`."""
    refs = {
        f"{role}Ref": {"name": name, "controllerRevisionRef": {"name": revision}}
        for role, name, revision in (("instancetype", "small", size), ("preference", "linux", "p1"))
    }
    matcher = {"name": "small", "revisionName": size} if in_spec else {"name": "small"}
    return build_vm(instancetype=matcher, preference="linux", status=refs)


def test_instance_records_revisions_that_only_the_status_of_its_vm_names() -> None:
    shape = Shape(build_instancetype_spec())
    vmi = build_instance(build_captured("r1"), shape, None)
    assert (vmi.metadata.annotations or {})["virtshape.io/revisions"] == "r1,p1"
    assert not has_other_revisions(vmi, build_captured("r1"))
    assert has_other_revisions(vmi, build_captured("r2"))
    assert not has_other_revisions(vmi, build_vm(memory="1Gi"))
    named = build_instance(build_captured("r1", in_spec=True), shape, None)
    assert (named.metadata.annotations or {})["virtshape.io/revisions"] == "p1"
    unnamed = build_instance(build_owner(), shape, None)
    assert not has_other_revisions(unnamed, build_captured("r1"))


def test_firmware_uuid_is_the_same_for_all_instances_of_a_vm() -> None:
    assert firmware_uuid(build_owner()) == firmware_uuid(build_owner())
    assert firmware_uuid(build_owner()) != firmware_uuid(build_owner("u2"))


def test_instance_starts_paused_on_request() -> None:
    request = from_tree({"action": "Start", "data": {"paused": "true"}}, VirtualMachineStateChangeRequest)
    shape = Shape(build_instancetype_spec())
    assert build_instance(build_owner(), shape, None, request).spec.start_strategy == "Paused"
    assert build_instance(build_owner(), shape, None).spec.start_strategy is None


def test_timestamps_have_a_precision_of_one_second() -> None:
    assert format_time(1_800_000_000.9) == "2027-01-15T08:00:00Z"
    assert parse_time("2027-01-15T08:00:00Z") == 1_800_000_000.0


@pytest.mark.parametrize(
    ("vm", "annotations"),
    [
        ({}, None),
        ({"instancetype": "a"}, {"cluster-instancetype-name": "a"}),
        ({"instancetype": "virtualmachineinstancetypes/a"}, {"instancetype-name": "a"}),
        ({"preference": "p"}, {"cluster-preference-name": "p"}),
        ({"preference": "VirtualMachinePreference/p"}, {"preference-name": "p"}),
        ({"flavor": "f"}, {"cluster-flavor-name": "f"}),
        ({"flavor": "VirtualMachineFlavor/f"}, {"flavor-name": "f"}),
        (
            {"flavor": "VirtualMachineFlavor/f", "preference": "VirtualMachinePreference/p"},
            {"flavor-name": "f", "preference-name": "p"},
        ),
        ({"instancetype": "Pod/a", "preference": "p"}, {"cluster-preference-name": "p"}),
    ],
    ids=[
        "nothing",
        "instance type",
        "instance type of a namespace",
        "preference",
        "preference of a namespace",
        "flavor",
        "flavor of a namespace",
        "flavor and preference",
        "no such kind",
    ],
)
def test_instance_is_annotated_with_instancetype_and_preference(vm: JsonObject, annotations: JsonObject | None) -> None:
    metadata = ObjectMeta()
    annotate_names(build_vm(**vm), metadata)
    expected = None if annotations is None else {f"kubevirt.io/{key}": name for key, name in annotations.items()}
    assert metadata.annotations == expected


def test_new_instance_has_the_annotations_of_the_template() -> None:
    metadata = ObjectMeta(annotations={"own": "1"})
    annotate_names(build_vm(instancetype="a"), metadata)
    assert metadata.annotations == {"own": "1", "kubevirt.io/cluster-instancetype-name": "a"}


def test_new_instance_has_all_fields_of_instancetype_and_preference() -> None:
    vm = build_vm(instancetype="a", preference="p", template=VOLUMES, annotations={"own": "1"})
    metadata, spec = make_instance(vm, Shape(SMALL, LINUX), firmware_uuid=UUID)
    assert to_tree(metadata) == {
        "annotations": {
            "own": "1",
            "kubevirt.io/cluster-instancetype-name": "a",
            "kubevirt.io/cluster-preference-name": "p",
            "from": "type",
        }
    }
    assert to_tree(spec) == {
        "architecture": "amd64",
        "evictionStrategy": "None",
        "domain": {
            "cpu": {"sockets": 2, "cores": 1, "threads": 1, "model": "host-model"},
            "memory": {"guest": "2Gi"},
            "resources": {"requests": {"memory": "2Gi"}},
            "machine": {"type": "q35"},
            "firmware": {"uuid": UUID},
            "features": {
                "acpi": {"enabled": True},
                "smm": {"enabled": True},
                "hyperv": {"vapic": {"enabled": True}},
            },
            "clock": {"timer": {"hpet": {"present": True}}},
            "devices": {
                "disks": [{"name": "root", "disk": {"bus": "virtio"}}],
                "interfaces": [{"name": "default", "bridge": {}}],
                "gpus": [{"name": "g", "virtualGPUOptions": {}}],
                "rng": {},
            },
        },
        "networks": [{"name": "default", "pod": {}}],
        "volumes": [{"name": "root", "containerDisk": {"image": "fedora:40", "imagePullPolicy": "IfNotPresent"}}],
    }


def test_new_instance_gets_defaults_of_configuration_and_architecture() -> None:
    configuration = from_tree({"cpuModel": "Haswell", "evictionStrategy": "LiveMigrate"}, KubeVirtConfiguration)
    _, spec = make_instance(build_vm(memory="1Gi"), Shape(), configuration, "arm64", firmware_uuid=UUID)
    assert (spec.architecture, spec.eviction_strategy) == ("arm64", "LiveMigrate")
    assert to_tree(spec.domain.cpu) == {"sockets": 1, "cores": 1, "threads": 1, "model": "Haswell"}


def test_vcpus_of_a_vm_without_instancetype_become_sockets() -> None:
    _, spec = make_instance(build_vm(cpu_guest=4, memory="1Gi"), Shape(), firmware_uuid=UUID)
    assert spec.domain.cpu is not None
    assert (spec.domain.cpu.sockets, spec.domain.cpu.guest) == (4, None)


@pytest.mark.parametrize(
    ("shape", "vm", "message", "fields"),
    [
        pytest.param(
            Shape(build_instancetype_spec()),
            {"domain": {"cpu": {"cores": 2}}, "memory": "1Gi"},
            "VMI conflicts with instancetype spec in fields: [spec.domain.cpu.cores, spec.domain.memory.guest]",
            ["spec.domain.cpu.cores", "spec.domain.memory.guest"],
            id="conflicts",
        ),
        pytest.param(
            Shape(build_instancetype_spec(memory=None)),
            {},
            "no memory: set spec.domain.memory.guest in the VM, or choose an instance type that sets spec.memory.guest",
            ["spec.domain.memory.guest"],
            id="no memory",
        ),
        pytest.param(
            Shape(build_instancetype_spec(memory=None)),
            {"domain": {"cpu": {"cores": 2}}},
            "VMI conflicts with instancetype spec in fields: [spec.domain.cpu.cores]; "
            "no memory: set spec.domain.memory.guest in the VM, "
            "or choose an instance type that sets spec.memory.guest",
            ["spec.domain.cpu.cores", "spec.domain.memory.guest"],
            id="both",
        ),
    ],
)
def test_conflict_at_vm_start_is_reported_with_fields_of_the_instance(
    shape: Shape, vm: JsonObject, message: str, fields: list[str]
) -> None:
    with pytest.raises(StatusError) as refused:
        make_instance(build_vm(**vm), shape, firmware_uuid=UUID)
    assert (refused.value.code, refused.value.message) == (422, message)
    assert [cause.field for cause in refused.value.causes] == fields


def test_instance_shares_no_data_with_its_inputs() -> None:
    vm = build_vm(instancetype="a", preference="p", template=VOLUMES)
    shape = Shape(SMALL, LINUX)
    before = encode(vm), encode(SMALL), encode(LINUX)
    spec: Any = make_instance(vm, shape, firmware_uuid=UUID)[1]
    domain = spec.domain
    domain.features.smm.enabled = False
    domain.features.hyperv.vapic.enabled = False
    domain.clock.timer.hpet.present = False
    domain.devices.gpus[0].name = "changed"
    domain.devices.gpus[0].virtual_gpu_options.display = object()
    spec.volumes[0].name = "changed"
    assert (encode(vm), encode(SMALL), encode(LINUX)) == before
