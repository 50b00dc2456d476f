"""The status of DataVolumes: phases, progress, conditions, attempts."""

import pytest
from tests.support.instances import EARLIER, STAMP
from tests.unit.controllers.storage.build import build_bound, build_claim, build_data_volume

from virtshape.api.cdi import DataVolumeSource
from virtshape.api.codec import from_tree, to_tree
from virtshape.controllers.storage.filling import (
    Seen,
    back_off,
    choose_way,
    decide_phase,
    describe_filling,
    is_finished,
)
from virtshape.controllers.storage.origins import NotYet
from virtshape.controllers.storage.protocol import Work

WAITING = Work(state="waiting")
RUNNING = Work(state="running", progress=12.345)
FAILED = Work(state="failed", message="no route")
HOPELESS = Work(state="failed", message="too large", final=True)
MISSING = NotYet("NotFound", "it is not there")
REFUSED = NotYet("NotSupported", "never", final=True)


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (Seen(), "Pending"),
        (Seen(claim=build_claim()), "Pending"),
        (Seen(claim=build_claim(), waits_for_consumer=True), "WaitForFirstConsumer"),
        (Seen(claim=build_claim(phase="Lost")), "Failed"),
        (Seen(claim=build_bound()), "PVCBound"),
        (Seen(claim=build_bound(), trouble=MISSING), "ImportScheduled"),
        (Seen(claim=build_bound(), trouble=MISSING, way="Clone"), "CloneScheduled"),
        (Seen(claim=build_bound(), trouble=REFUSED), "Failed"),
        (Seen(trouble=REFUSED), "Failed"),
        (Seen(claim=build_bound(), work=WAITING), "ImportScheduled"),
        (Seen(claim=build_bound(), work=RUNNING), "ImportInProgress"),
        (Seen(claim=build_bound(), work=RUNNING, way="Clone"), "CloneInProgress"),
        (Seen(work=RUNNING), "ImportInProgress"),
        (Seen(claim=build_bound(), work=FAILED), "ImportInProgress"),
        (Seen(claim=build_bound(), work=HOPELESS), "Failed"),
        (Seen(claim=build_bound(), way="Upload"), "UploadScheduled"),
        (Seen(claim=build_bound(), way="Upload", work=WAITING), "UploadReady"),
        (Seen(claim=build_bound(), way="Upload", work=RUNNING), "UploadReady"),
        (Seen(claim=build_bound(), filled=True), "Succeeded"),
    ],
)
def test_a_volume_is_in_the_phase_that_cdi_would_show(seen: Seen, phase: str) -> None:
    assert decide_phase(seen) == phase


@pytest.mark.parametrize(
    ("source", "way"),
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
def test_the_source_decides_how_a_volume_is_filled(source: object, way: str) -> None:
    assert choose_way(from_tree(source, DataVolumeSource) if source else None) == way


def test_progress_and_conditions_are_told() -> None:
    status = describe_filling(build_data_volume(), Seen(claim=build_bound("dv1"), work=RUNNING), STAMP)
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


def test_a_failure_is_counted_and_told() -> None:
    volume = build_data_volume(status={"restartCount": 2, "phase": "ImportInProgress"})
    status = describe_filling(volume, Seen(claim=build_bound("dv1"), work=FAILED), STAMP)
    assert status.restart_count == 3
    assert status.progress == "N/A"
    running = (status.conditions or [])[2]
    assert (running.status, running.reason, running.message) == ("False", "Error", "no route")


def test_nothing_is_done_before_it_is_done() -> None:
    nearly = Work(state="running", progress=99.999)
    assert describe_filling(build_data_volume(), Seen(claim=build_bound(), work=nearly), STAMP).progress == "99.99%"


def test_a_condition_keeps_the_time_of_its_last_change() -> None:
    before = [
        {"type": "Bound", "status": "Unknown", "lastTransitionTime": EARLIER},
        {"type": "Ready", "status": "False", "lastTransitionTime": EARLIER},
    ]
    status = describe_filling(build_data_volume(status={"conditions": before}), Seen(claim=build_claim()), STAMP)
    times = {one.type: one.last_transition_time for one in status.conditions or ()}
    assert times == {"Bound": STAMP, "Ready": EARLIER, "Running": STAMP}


def test_a_lost_claim_is_told() -> None:
    status = describe_filling(build_data_volume(), Seen(claim=build_claim(phase="Lost")), STAMP)
    bound = (status.conditions or [])[0]
    assert (status.phase, bound.status, bound.reason) == ("Failed", "False", "ClaimLost")


def test_pauses_grow_up_to_five_minutes() -> None:
    assert [back_off(attempts) for attempts in (0, 1, 2, 8, 9, 1000)] == [1, 2, 4, 256, 300, 300]


@pytest.mark.parametrize(
    ("phase", "finished"), [(None, False), ("ImportInProgress", False), ("Succeeded", True), ("Failed", True)]
)
def test_some_phases_are_the_last(phase: str | None, finished: bool) -> None:
    assert is_finished(build_data_volume(status={"phase": phase} if phase else None)) is finished
