"""Checks and results of addvolume and removevolume requests."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine, VirtualMachineVolumeRequest
from virtshape.api.kubevirt.volume import HotplugVolumeSource
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.volumes import (
    AddOptions,
    RemoveOptions,
    read_volume_request,
    request_on_vm,
    request_on_vmi,
)

CLAIM = from_tree({"persistentVolumeClaim": {"claimName": "claim"}}, HotplugVolumeSource)
BOTH = from_tree({"persistentVolumeClaim": {"claimName": "c"}, "dataVolume": {"name": "d"}}, HotplugVolumeSource)
SCSI: JsonObject = {"disk": {"bus": "scsi"}}
ROOT: JsonObject = {"name": "root", "containerDisk": {"image": "demo"}}
FIXED: JsonObject = {"name": "fixed", "persistentVolumeClaim": {"claimName": "claim"}}
PLUGGED: JsonObject = {"name": "data", "dataVolume": {"name": "claim", "hotpluggable": True}}
ADD = read_volume_request(AddOptions(name="data", disk=SCSI, volume_source=CLAIM))
REMOVE = read_volume_request(RemoveOptions(name="data"))
ADD_TREE: JsonObject = {
    "addVolumeOptions": {
        "name": "data",
        "disk": {"name": "data", "disk": {"bus": "scsi"}},
        "volumeSource": {"persistentVolumeClaim": {"claimName": "claim", "hotpluggable": True}},
    }
}
REMOVE_TREE: JsonObject = {"removeVolumeOptions": {"name": "data"}}


def build_vm(*volumes: JsonObject, requests: list[JsonObject] | None = None) -> VirtualMachine:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "vm1"},
        "spec": {"template": {"spec": {"domain": {"devices": {}}, "volumes": list(volumes)}}},
        "status": {"volumeRequests": requests},
    }
    return from_tree(tree, VirtualMachine)


def build_vmi(*volumes: JsonObject, owner: str = "", phase: str = "Running", **status: Any) -> VirtualMachineInstance:
    owners = [{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": owner, "uid": "u", "controller": True}]
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1", "namespace": "team", "ownerReferences": owners if owner else None},
        "spec": {"domain": {"devices": {}}, "volumes": list(volumes)},
        "status": {"phase": phase, **status},
    }
    return from_tree(tree, VirtualMachineInstance)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AddOptions(disk=SCSI, volume_source=CLAIM), "AddVolumeOptions requires name to be set"),
        (AddOptions(name="data", volume_source=CLAIM), "AddVolumeOptions requires disk to not be nil"),
        (AddOptions(name="data", disk=SCSI), "AddVolumeOptions requires VolumeSource to not be nil"),
        (
            AddOptions(name="data", disk=SCSI, volume_source=BOTH),
            "AddVolumeOptions requires volumeSource to have either persistentVolumeClaim or dataVolume",
        ),
        (RemoveOptions(), "RemoveVolumeOptions requires name to be set"),
    ],
    ids=["no name", "no disk", "no source", "two sources", "remove without a name"],
)
def test_incomplete_volume_options_are_rejected(options: AddOptions | RemoveOptions, message: str) -> None:
    with pytest.raises(StatusError) as refused:
        read_volume_request(options)
    assert (refused.value.code, refused.value.message) == (400, message)


def test_addvolume_and_removevolume_add_a_volume_request_to_the_vm_status() -> None:
    assert request_on_vm(build_vm(ROOT), ADD) == ("status", {"volumeRequests": [ADD_TREE]}, None)
    assert request_on_vm(build_vm(ROOT, PLUGGED), REMOVE) == ("status", {"volumeRequests": [REMOVE_TREE]}, None)


def test_removevolume_replaces_a_pending_addvolume_request() -> None:
    vm = build_vm(ROOT, PLUGGED, requests=[ADD_TREE])
    assert request_on_vm(vm, REMOVE).values == {"volumeRequests": [REMOVE_TREE]}


REFUSED: dict[str, tuple[VirtualMachine, VirtualMachineVolumeRequest, str]] = {
    "name is taken": (
        build_vm(PLUGGED),
        ADD,
        "Unable to add volume [data] because volume with that name already exists",
    ),
    "claim is used": (build_vm(FIXED), ADD, "Unable to add volume source [claim] because it already exists"),
    "no such volume": (build_vm(ROOT), REMOVE, "Unable to remove volume [data] because it does not exist"),
    "not hotpluggable": (
        build_vm(FIXED),
        read_volume_request(RemoveOptions(name="fixed")),
        "Unable to remove volume [fixed] because it is not hotpluggable",
    ),
    "added twice": (build_vm(requests=[ADD_TREE]), ADD, "add volume request for volume [data] already exists"),
    "added while it is removed": (
        build_vm(requests=[REMOVE_TREE]),
        ADD,
        (
            "unable to add volume since a remove volume request for volume [data] already exists and is still being"
            " processed"
        ),
    ),
    "removed twice": (
        build_vm(PLUGGED, requests=[REMOVE_TREE]),
        REMOVE,
        "a remove volume request for volume [data] already exists and is still being processed",
    ),
}


@pytest.mark.parametrize(("vm", "request_", "message"), REFUSED.values(), ids=REFUSED)
def test_impossible_volume_request_for_a_vm_is_rejected_with_kubevirts_message(
    vm: VirtualMachine, request_: VirtualMachineVolumeRequest, message: str
) -> None:
    with pytest.raises(StatusError) as refused:
        request_on_vm(vm, request_)
    assert refused.value.code == 409
    assert refused.value.message == f'Operation cannot be fulfilled on virtualmachine.kubevirt.io "vm1": {message}'


def test_error_for_addvolume_with_an_invalid_bus_names_the_field() -> None:
    wrong = read_volume_request(AddOptions(name="data", disk={"disk": {"bus": "sata"}}, volume_source=CLAIM))
    with pytest.raises(StatusError) as refused:
        request_on_vm(build_vm(), wrong)
    assert refused.value.code == 422
    assert [cause.field for cause in refused.value.causes] == ["Status.volumeRequests"]
    with pytest.raises(StatusError, match="Hotplug configuration for disk"):
        request_on_vmi(build_vmi(), wrong)


def test_addvolume_changes_the_spec_of_an_instance_without_a_vm() -> None:
    change = request_on_vmi(build_vmi(ROOT), ADD)
    assert change.part == "spec"
    assert [volume["name"] for volume in change.values["volumes"]] == ["root", "data"]
    assert change.values["domain"]["devices"]["disks"] == [{"name": "data", "disk": {"bus": "scsi"}}]


@pytest.mark.parametrize(
    ("vmi", "code", "message"),
    [
        (
            build_vmi(owner="vm1"),
            400,
            "VMI team/vm1 is owned by a VM: use the subresource of the VirtualMachine vm1",
        ),
        (build_vmi(phase="Scheduled"), 409, "VMI is not running"),
        (build_vmi(PLUGGED), 409, "Unable to add volume [data] because volume with that name already exists"),
        (
            build_vmi(volumeStatus=[{"name": "data", "target": "sda", "phase": "Detaching", "hotplugVolume": {}}]),
            409,
            "Unable to add volume [data] because the guest still uses an earlier volume of that name",
        ),
    ],
    ids=["owned by a VM", "not running", "name is taken", "still in use"],
)
def test_impossible_volume_request_for_an_instance_is_rejected(
    vmi: VirtualMachineInstance, code: int, message: str
) -> None:
    with pytest.raises(StatusError) as refused:
        request_on_vmi(vmi, ADD)
    assert refused.value.code == code
    assert refused.value.message.endswith(message)
