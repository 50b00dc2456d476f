"""Status of a VM."""

from typing import Any

import pytest
from tests.support.build import build_spec, build_vm
from tests.support.instances import EARLIER, LATER, NOW, STAMP, build_vmi

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.status import (
    ConditionReason,
    StatusInputs,
    make_status,
    measure,
    print_status,
    started_generation,
)

READY: JsonObject = {"type": "Ready", "status": "True"}
FAILING: JsonObject = {"startFailure": {"consecutiveFailCount": 1, "retryAfterTimestamp": LATER}}


def build_held(reason: str) -> VirtualMachineInstance:
    """Build an instance with a condition that says why it cannot run."""
    return build_vmi("Scheduled", conditions=[{"type": "Synchronized", "status": "False", "reason": reason}])


@pytest.mark.parametrize(
    ("vm", "seen", "expected"),
    [
        ({"runStrategy": "Halted"}, {}, "Stopped"),
        ({"runStrategy": "Halted"}, {"volume_phases": ["Succeeded"]}, "Stopped"),
        ({"runStrategy": "Halted"}, {"volume_phases": ["ImportInProgress"]}, "Provisioning"),
        ({}, {"starting": True}, "Starting"),
        ({}, {"starting": True, "volume_phases": ["Pending"]}, "Provisioning"),
        ({}, {"vmi": build_vmi()}, "Starting"),
        ({}, {"vmi": build_vmi("Scheduling")}, "Starting"),
        ({}, {"vmi": build_vmi("Scheduling"), "volume_phases": ["Missing"]}, "ErrorPvcNotFound"),
        ({}, {"vmi": build_vmi("Scheduling"), "volume_phases": ["Failed"]}, "DataVolumeError"),
        ({}, {"vmi": build_vmi("Scheduling"), "volume_phases": ["WaitForFirstConsumer"]}, "WaitingForVolumeBinding"),
        (
            {},
            {
                "vmi": build_vmi(
                    "Scheduling", conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
                )
            },
            "ErrorUnschedulable",
        ),
        ({}, {"vmi": build_held("ErrImagePull")}, "ErrImagePull"),
        ({}, {"vmi": build_held("ImagePullBackOff")}, "ImagePullBackOff"),
        ({}, {"vmi": build_held("NotPossibleHere")}, "ErrorUnschedulable"),
        ({}, {"vmi": build_held("ClaimNotFound")}, "ErrorPvcNotFound"),
        ({}, {"vmi": build_held("SecretNotFound")}, "Starting"),
        ({}, {"vmi": build_vmi("Running")}, "Running"),
        ({}, {"vmi": build_vmi("Running", conditions=[{"type": "Paused", "status": "True"}])}, "Paused"),
        ({}, {"vmi": build_vmi("Running", is_deleting=True)}, "Stopping"),
        ({"runStrategy": "Manual"}, {"vmi": build_vmi("Succeeded")}, "Stopped"),
        ({"status": FAILING}, {"vmi": build_vmi("Failed")}, "CrashLoopBackOff"),
        ({"status": FAILING}, {}, "CrashLoopBackOff"),
    ],
)
def test_printable_status_depends_on_the_vm_and_its_instance(vm: JsonObject, seen: JsonObject, expected: str) -> None:
    assert print_status(build_vm(**vm), StatusInputs(**seen)) == expected


def test_vm_being_deleted_is_terminating() -> None:
    vm = build_vm()
    vm.metadata.deletion_timestamp = EARLIER
    assert print_status(vm, StatusInputs(vmi=build_vmi("Running"))) == "Terminating"


def status_of(vmi: VirtualMachineInstance | None, *, before: JsonObject | None = None, **seen: Any) -> JsonObject:
    vm = build_vm(status=before)
    vm.metadata.generation = 3
    tree: JsonObject = to_tree(make_status(vm, StatusInputs(vmi=vmi, **seen), NOW, STAMP))
    return tree


def test_vm_without_an_instance_is_stopped() -> None:
    assert status_of(None) == {
        "printableStatus": "Stopped",
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "VMINotExists",
                "message": "VMI does not exist",
                "lastTransitionTime": STAMP,
            }
        ],
        "desiredGeneration": 3,
    }


def test_running_vm_reports_readiness_size_and_generation() -> None:
    vmi = build_vmi("Running", conditions=[READY], annotations={"kubevirt.io/vm-generation": "2"})
    assert status_of(vmi, run_strategy="Always", effective=measure(build_spec({"memory": {"guest": "1Gi"}}))) == {
        "printableStatus": "Running",
        "created": True,
        "ready": True,
        "runStrategy": "Always",
        "effective": {"vcpus": 1, "memory": "1Gi", "topology": "1x1x1"},
        "conditions": [{**READY, "lastTransitionTime": STAMP}],
        "observedGeneration": 2,
        "desiredGeneration": 3,
    }


def test_failure_condition_is_removed_after_recovery() -> None:
    troubled = status_of(None, failure=ConditionReason("FailedFindInstancetype", "not there"))
    assert troubled["conditions"][1] == {
        "type": "Failure",
        "status": "True",
        "reason": "FailedFindInstancetype",
        "message": "not there",
        "lastTransitionTime": STAMP,
    }
    assert [one["type"] for one in status_of(None, before=troubled)["conditions"]] == ["Ready"]


def test_volume_problem_is_reported_until_an_instance_exists() -> None:
    waiting = ConditionReason("FailedPvcNotFound", "PersistentVolumeClaim c not found")
    reported = [
        {one["type"]: one.get("message") for one in status_of(vmi, waiting=waiting)["conditions"]}
        for vmi in (None, build_vmi("Running"))
    ]
    assert reported[0] == {"Ready": "VMI does not exist", "DataVolumesReady": "PersistentVolumeClaim c not found"}
    assert "DataVolumesReady" not in reported[1]


@pytest.mark.parametrize(
    ("vmi", "types"),
    [(build_vmi("Running"), ["Ready", "RestartRequired"]), (None, ["Ready"])],
    ids=["running", "stopped"],
)
def test_only_a_running_vm_has_the_restart_required_condition(
    vmi: VirtualMachineInstance | None, types: list[str]
) -> None:
    conditions = status_of(vmi, restart_reason="no room for 8 sockets")["conditions"]
    assert [one["type"] for one in conditions] == types
    assert vmi is None or conditions[-1]["message"].endswith("restart it to apply this: no room for 8 sockets")


def test_status_fields_of_other_controllers_are_preserved() -> None:
    others = {"volumeSnapshotStatuses": [{"name": "root", "enabled": True}], "instancetypeRef": {"name": "u1"}}
    status = status_of(None, before=others)
    assert {key: status[key] for key in others} == others


def test_reported_vcpus_are_sockets_times_cores_times_threads() -> None:
    spec = build_spec({"cpu": {"sockets": 2, "threads": 2}, "memory": {"guest": "2Gi"}})
    assert to_tree(measure(spec)) == {"vcpus": 4, "memory": "2Gi", "topology": "2x1x2"}


@pytest.mark.parametrize(
    ("stated", "generation"),
    [("7", 7), ("", None), ("-7", None), ("seven", None), ("9" * 5000, None)],
    ids=["number", "nothing", "negative number", "string", "number out of range"],
)
def test_start_generation_is_read_from_the_annotation(stated: str, generation: int | None) -> None:
    assert started_generation(build_vmi("Running", annotations={"kubevirt.io/vm-generation": stated})) == generation
