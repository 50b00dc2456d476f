"""Status and events of hotplugged volumes."""

import pytest

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.controllers.vmi.volumehotplugstatus import VolumeProblem, describe_hotplugged, list_volume_events

VOLUME: JsonObject = {"name": "data", "dataVolume": {"name": "claim", "hotpluggable": True}}
FIXED: JsonObject = {"name": "fixed", "dataVolume": {"name": "other"}}
COMMON: JsonObject = {"name": "data", "persistentVolumeClaimInfo": {"claimName": "claim"}, "hotplugVolume": {}}


def build_vmi(*volumes: JsonObject, status: list[JsonObject] | None = None) -> VirtualMachineInstance:
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1"},
        "spec": {"domain": {"devices": {}}, "volumes": list(volumes)},
        "status": {"phase": "Running", "volumeStatus": status},
    }
    return from_tree(tree, VirtualMachineInstance)


READY: JsonObject = {
    **COMMON,
    "target": "sda",
    "phase": "Ready",
    "reason": "VolumeReady",
    "message": "Successfully attach hotplugged volume data to VM",
}
DETACHING: JsonObject = {
    **COMMON,
    "target": "sda",
    "phase": "Detaching",
    "reason": "HotplugVolumeDetaching",
    "message": "Waiting for the guest to release volume data",
}


def test_only_hotpluggable_volumes_have_a_phase() -> None:
    found = describe_hotplugged(build_vmi(FIXED, VOLUME), {"fixed": "vda", "data": "sda"}, {})
    assert [to_tree(one) for one in found] == [READY]


def test_volume_is_detaching_until_the_guest_has_released_it() -> None:
    vmi = build_vmi(status=[READY])
    assert [to_tree(one) for one in describe_hotplugged(vmi, {"data": "sda"}, {})] == [DETACHING]
    assert not list(describe_hotplugged(vmi, {}, {}))


@pytest.mark.parametrize(
    ("problem", "phase"),
    [
        (VolumeProblem("ClaimNotFound", "not found"), "Pending"),
        (VolumeProblem("ClaimInUse", "in use"), "Bound"),
        (VolumeProblem("FailedAttachVolume", "no free port", is_on_node=True), "AttachedToNode"),
    ],
    ids=["claim missing", "claim in use", "attach failed"],
)
def test_hotplug_problem_is_reported_with_a_volume_phase(problem: VolumeProblem, phase: str) -> None:
    (found,) = describe_hotplugged(build_vmi(VOLUME), {}, {"data": problem})
    assert (found.phase, found.reason, found.message) == (phase, problem.reason, problem.message)
    before, after = build_vmi(VOLUME), build_vmi(VOLUME, status=[to_tree(found)])
    assert list(list_volume_events(before, after)) == [(problem.reason, problem.message, True)]
    assert not list(list_volume_events(after, after))


def test_attach_and_detach_of_a_volume_are_reported_once() -> None:
    without, attached, detaching = build_vmi(), build_vmi(status=[READY]), build_vmi(status=[DETACHING])
    ready = ("VolumeReady", "Successfully attach hotplugged volume data to VM", False)
    assert list(list_volume_events(without, attached)) == [ready]
    waiting = ("HotplugVolumeDetaching", "Waiting for the guest to release volume data", False)
    assert list(list_volume_events(attached, detaching)) == [waiting]
    detached = ("HotplugVolumeDetached", "Detached hotplugged volume data from VM", False)
    assert list(list_volume_events(detaching, without)) == [detached]


def test_volume_that_was_never_attached_is_not_reported_as_detached() -> None:
    pending = {**COMMON, "target": "", "phase": "Pending", "reason": "ClaimNotFound", "message": "not found"}
    assert not list(list_volume_events(build_vmi(status=[pending]), build_vmi()))
