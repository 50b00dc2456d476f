"""Requests to attach and detach volumes, and volume changes of a VM that apply to its running instance."""

from typing import Any

import pytest

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.kubevirt.instance import VirtualMachineInstanceSpec
from virtshape.api.kubevirt.virtualmachine import VirtualMachineVolumeRequest
from virtshape.api.model import JsonObject
from virtshape.engine.volumehotplug import (
    apply_volume_request,
    check_hotplugged_disk,
    follow_volumes,
    is_volume_request_done,
)

ROOT: JsonObject = {"name": "root", "containerDisk": {"image": "demo"}}


def build_volume(name: str, claim: str = "", *, hotpluggable: bool = True) -> JsonObject:
    source: JsonObject = {"claimName": claim or name}
    return {"name": name, "persistentVolumeClaim": {**source, **({"hotpluggable": True} if hotpluggable else {})}}


def build_disk(name: str) -> JsonObject:
    return {"name": name, "disk": {"bus": "scsi"}}


def build_spec(*volumes: JsonObject) -> VirtualMachineInstanceSpec:
    disks = [build_disk(volume["name"]) for volume in volumes]
    tree = {"domain": {"devices": {"disks": disks}}, "volumes": list(volumes)}
    return from_tree(tree, VirtualMachineInstanceSpec)


def add_request(name: str, **source: Any) -> VirtualMachineVolumeRequest:
    options = {"name": name, "disk": {"name": "other", "disk": {"bus": "scsi"}}, "volumeSource": source}
    return from_tree({"addVolumeOptions": options}, VirtualMachineVolumeRequest)


def remove_request(name: str) -> VirtualMachineVolumeRequest:
    return from_tree({"removeVolumeOptions": {"name": name}}, VirtualMachineVolumeRequest)


def list_names(spec: VirtualMachineInstanceSpec) -> tuple[list[str], list[str]]:
    return [one.name for one in spec.volumes or ()], [one.name for one in spec.domain.devices.disks or ()]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"persistentVolumeClaim": {"claimName": "c"}},
            {"persistentVolumeClaim": {"claimName": "c", "hotpluggable": True}},
        ),
        ({"dataVolume": {"name": "d"}}, {"dataVolume": {"name": "d", "hotpluggable": True}}),
    ],
    ids=["claim", "data volume"],
)
def test_added_volume_is_hotpluggable_and_has_a_disk_of_the_same_name(source: JsonObject, expected: JsonObject) -> None:
    spec = build_spec(ROOT)
    changed = apply_volume_request(spec, add_request("data", **source))
    tree = to_tree(changed)
    assert tree["volumes"] == [ROOT, {"name": "data", **expected}]
    assert tree["domain"]["devices"]["disks"][1] == build_disk("data")
    assert list_names(spec) == (["root"], ["root"]), "the original must not change"


def test_volume_request_is_complete_if_the_spec_has_the_requested_volumes() -> None:
    added, removed = add_request("data", dataVolume={"name": "d"}), remove_request("data")
    without, with_it = build_spec(ROOT), build_spec(ROOT, build_volume("data"))
    assert [is_volume_request_done(spec, added) for spec in (without, with_it)] == [False, True]
    assert [is_volume_request_done(spec, removed) for spec in (without, with_it)] == [True, False]
    assert apply_volume_request(with_it, added) is with_it
    assert list_names(apply_volume_request(with_it, removed)) == (["root"], ["root"])


@pytest.mark.parametrize(
    ("running", "wanted", "expected"),
    [
        ([ROOT], [ROOT, build_volume("a")], ["root", "a"]),
        ([ROOT], [build_volume("a"), ROOT], ["a", "root"]),
        ([ROOT, build_volume("a"), build_volume("b")], [ROOT, build_volume("b")], ["root", "b"]),
        ([ROOT], [ROOT, build_volume("a", hotpluggable=False)], ["root"]),
        ([ROOT, build_volume("a", hotpluggable=False)], [ROOT], ["root", "a"]),
        ([ROOT, build_volume("a", "one")], [ROOT, build_volume("a", "two")], ["root"]),
        ([ROOT, build_volume("a")], [ROOT, build_volume("a", hotpluggable=False)], ["root", "a"]),
    ],
    ids=[
        "added",
        "added before others",
        "removed",
        "added, but not hotpluggable",
        "removed, but not hotpluggable",
        "replaced: removed first",
        "no longer hotpluggable",
    ],
)
def test_only_hotpluggable_volumes_change_in_a_running_instance(
    running: list[JsonObject], wanted: list[JsonObject], expected: list[str]
) -> None:
    followed = follow_volumes(build_spec(*running), build_spec(*wanted))
    assert list_names(followed) == (expected, expected)


def test_replacement_of_a_volume_is_added_after_the_guest_has_released_the_volume() -> None:
    wanted = build_spec(ROOT, build_volume("a", "two"))
    without = build_spec(ROOT)
    assert follow_volumes(without, wanted, detaching={"a"}) is without
    assert list_names(follow_volumes(without, wanted)) == (["root", "a"], ["root", "a"])


@pytest.mark.parametrize(
    ("disk", "message"),
    [
        (
            {"disk": {"bus": "sata"}},
            "AddVolume request for disk [x] requires bus to be 'scsi' or 'virtio'. [sata] is not permitted.",
        ),
        (
            {"disk": {}},
            "AddVolume request for disk [x] requires bus to be 'scsi' or 'virtio'. [] is not permitted.",
        ),
        (
            {"lun": {"bus": "virtio"}},
            "AddVolume request for LUN [x] requires bus to be 'scsi'. [virtio] is not permitted.",
        ),
        (
            {"cdrom": {"bus": "scsi"}},
            "AddVolume request for [x] requires diskDevice of type 'disk' or 'lun' to be used.",
        ),
        (
            {"disk": {"bus": "scsi"}, "dedicatedIOThread": True},
            "AddVolume request for [x] requires virtio bus for IOThreads.",
        ),
        (
            {"disk": {"bus": "scsi"}, "bootOrder": 0},
            "AddVolume request for [x] must have a boot order > 0, if supplied",
        ),
    ],
    ids=["sata", "no bus", "virtio LUN", "CD-ROM", "I/O thread on scsi", "boot order 0"],
)
def test_disk_that_cannot_be_hotplugged_is_rejected(disk: JsonObject, message: str) -> None:
    found = check_hotplugged_disk(from_tree({"name": "x", **disk}, Disk), "x", "AddVolume request", "f")
    assert [(one.field, one.message) for one in found] == [("f", message)]


@pytest.mark.parametrize("disk", [{"disk": {"bus": "scsi"}}, {"disk": {"bus": "virtio"}}, {"lun": {"bus": "scsi"}}])
def test_disk_that_can_be_hotplugged_is_accepted(disk: JsonObject) -> None:
    assert not list(check_hotplugged_disk(from_tree({"name": "x", **disk}, Disk), "x", "AddVolume request", "f"))
