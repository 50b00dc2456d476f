"""The instance that starts a VM: name, labels, owner and firmware UUID."""

from tests.support.build import build_instancetype_spec, build_vm

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineStateChangeRequest
from virtshape.controllers.runtime.clock import format_time, parse_time
from virtshape.controllers.vm.newvmi import build_instance, firmware_uuid, name_start_revision_of
from virtshape.controllers.vm.revisions import name_start_revision
from virtshape.engine.expand import Shape


def build_owner(uid: str = "u1") -> VirtualMachine:
    vm = build_vm(instancetype="small", namespace="ns", annotations={"own": "1"})
    vm.metadata.uid, vm.metadata.generation = uid, 4
    return vm


def test_instance_has_owner_and_generation() -> None:
    vm = build_owner()
    vmi = build_instance(vm, Shape(build_instancetype_spec()), None)
    assert to_tree(vmi.metadata) == {
        "name": "vm1",
        "namespace": "ns",
        "labels": {"vm.kubevirt.io/name": "vm1"},
        "annotations": {
            "own": "1",
            "kubevirt.io/cluster-instancetype-name": "small",
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


def test_firmware_uuid_is_the_same_for_all_instances_of_a_vm() -> None:
    assert firmware_uuid(build_owner()) == firmware_uuid(build_owner())
    assert firmware_uuid(build_owner()) != firmware_uuid(build_owner("u2"))


def test_instance_starts_paused_on_request() -> None:
    request = from_tree({"action": "Start", "data": {"paused": "true"}}, VirtualMachineStateChangeRequest)
    shape = Shape(build_instancetype_spec())
    assert build_instance(build_owner(), shape, None, request).spec.start_strategy == "Paused"
    assert build_instance(build_owner(), shape, None).spec.start_strategy is None


def test_times_have_a_precision_of_one_second() -> None:
    assert format_time(1_800_000_000.9) == "2027-01-15T08:00:00Z"
    assert parse_time("2027-01-15T08:00:00Z") == 1_800_000_000.0
