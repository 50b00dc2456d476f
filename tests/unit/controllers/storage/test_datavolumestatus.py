"""Status of DataVolumes: phases, progress, conditions and retries."""

import pytest
from tests.support.instances import EARLIER, STAMP
from tests.support.storageobjects import build_bound, build_claim, build_data_volume

from virtshape.api.cdi import DataVolumeSource
from virtshape.api.codec import from_tree, to_tree
from virtshape.controllers.storage.datavolumestatus import (
    DataVolumeObservation,
    decide_phase,
    get_transfer_method,
    is_finished,
    make_data_volume_status,
    retry_delay,
)
from virtshape.controllers.storage.protocol import JobStatus
from virtshape.controllers.storage.sources import SourceProblem

WAITING = JobStatus(state="waiting")
RUNNING = JobStatus(state="running", progress=12.345)
FAILED = JobStatus(state="failed", message="no route")
HOPELESS = JobStatus(state="failed", message="too large", final=True)
MISSING = SourceProblem("NotFound", "it is not there")
REFUSED = SourceProblem("NotSupported", "never", final=True)


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (DataVolumeObservation(), "Pending"),
        (DataVolumeObservation(claim=build_claim()), "Pending"),
        (DataVolumeObservation(claim=build_claim(), waits_for_consumer=True), "WaitForFirstConsumer"),
        (DataVolumeObservation(claim=build_claim(phase="Lost")), "Failed"),
        (DataVolumeObservation(claim=build_bound()), "PVCBound"),
        (DataVolumeObservation(claim=build_bound(), problem=MISSING), "ImportScheduled"),
        (DataVolumeObservation(claim=build_bound(), problem=MISSING, method="Clone"), "CloneScheduled"),
        (DataVolumeObservation(claim=build_bound(), problem=REFUSED), "Failed"),
        (DataVolumeObservation(problem=REFUSED), "Failed"),
        (DataVolumeObservation(claim=build_bound(), work=WAITING), "ImportScheduled"),
        (DataVolumeObservation(claim=build_bound(), work=RUNNING), "ImportInProgress"),
        (DataVolumeObservation(claim=build_bound(), work=RUNNING, method="Clone"), "CloneInProgress"),
        (DataVolumeObservation(work=RUNNING), "ImportInProgress"),
        (DataVolumeObservation(claim=build_bound(), work=FAILED), "ImportInProgress"),
        (DataVolumeObservation(claim=build_bound(), work=HOPELESS), "Failed"),
        (DataVolumeObservation(claim=build_bound(), method="Upload"), "UploadScheduled"),
        (DataVolumeObservation(claim=build_bound(), method="Upload", work=WAITING), "UploadReady"),
        (DataVolumeObservation(claim=build_bound(), method="Upload", work=RUNNING), "UploadReady"),
        (DataVolumeObservation(claim=build_bound(), filled=True), "Succeeded"),
    ],
)
def test_data_volume_phases_match_cdi(seen: DataVolumeObservation, phase: str) -> None:
    assert decide_phase(seen) == phase


@pytest.mark.parametrize(
    ("source", "method"),
    [
        ({"blank": {}}, "Import"),
        ({"http": {"url": "http://a"}}, "Import"),
        ({"registry": {"url": "docker://a"}}, "Import"),
        ({"upload": {}}, "Upload"),
        ({"pvc": {"name": "a", "namespace": "b"}}, "Clone"),
        ({"snapshot": {"name": "a", "namespace": "b"}}, "Clone"),
        (None, "Clone"),
    ],
)
def test_transfer_method_depends_on_the_source(source: object, method: str) -> None:
    assert get_transfer_method(from_tree(source, DataVolumeSource) if source else None) == method


def test_data_volume_progress_and_conditions_are_reported() -> None:
    status = make_data_volume_status(
        build_data_volume(), DataVolumeObservation(claim=build_bound("dv1"), work=RUNNING), STAMP
    )
    assert to_tree(status) == {
        "claimName": "dv1",
        "phase": "ImportInProgress",
        "progress": "12.35%",
        "conditions": [
            {
                "type": "Bound",
                "status": "True",
                "reason": "Bound",
                "message": "PVC dv1 Bound",
                "lastTransitionTime": STAMP,
            },
            {"type": "Ready", "status": "False", "reason": "TransferRunning", "lastTransitionTime": STAMP},
            {"type": "Running", "status": "True", "reason": "TransferRunning", "lastTransitionTime": STAMP},
        ],
    }


def test_data_volume_failure_is_counted_and_reported() -> None:
    volume = build_data_volume(status={"restartCount": 2, "phase": "ImportInProgress"})
    status = make_data_volume_status(volume, DataVolumeObservation(claim=build_bound("dv1"), work=FAILED), STAMP)
    assert status.restart_count == 3
    assert status.progress == "N/A"
    running = (status.conditions or [])[2]
    assert (running.status, running.reason, running.message) == ("False", "Error", "no route")


def test_data_volume_progress_stays_below_100_percent_until_success() -> None:
    nearly = JobStatus(state="running", progress=99.999)
    assert (
        make_data_volume_status(
            build_data_volume(), DataVolumeObservation(claim=build_bound(), work=nearly), STAMP
        ).progress
        == "99.99%"
    )


def test_unchanged_data_volume_condition_keeps_its_transition_time() -> None:
    before = [
        {"type": "Bound", "status": "Unknown", "lastTransitionTime": EARLIER},
        {"type": "Ready", "status": "False", "lastTransitionTime": EARLIER},
    ]
    status = make_data_volume_status(
        build_data_volume(status={"conditions": before}), DataVolumeObservation(claim=build_claim()), STAMP
    )
    times = {one.type: one.last_transition_time for one in status.conditions or ()}
    assert times == {"Bound": STAMP, "Ready": EARLIER, "Running": STAMP}


def test_lost_claim_of_a_data_volume_is_reported() -> None:
    status = make_data_volume_status(build_data_volume(), DataVolumeObservation(claim=build_claim(phase="Lost")), STAMP)
    bound = (status.conditions or [])[0]
    assert (status.phase, bound.status, bound.reason) == ("Failed", "False", "ClaimLost")


def test_retry_delay_grows_to_five_minutes() -> None:
    assert [retry_delay(attempts) for attempts in (0, 1, 2, 8, 9, 1000)] == [1, 2, 4, 256, 300, 300]


@pytest.mark.parametrize(
    ("phase", "finished"), [(None, False), ("ImportInProgress", False), ("Succeeded", True), ("Failed", True)]
)
def test_data_volume_is_finished_only_in_a_final_phase(phase: str | None, finished: bool) -> None:
    assert is_finished(build_data_volume(status={"phase": phase} if phase else None)) is finished
