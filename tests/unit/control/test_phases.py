"""The phases of an instance: forward only, with the time of each."""

from typing import get_args

import pytest
from tests.build import Tree
from tests.lives import EARLIER, STAMP, build_vmi

from virtshape.api.codec import to_tree
from virtshape.control.phases import Phase, Progress, advance, phase_of

NOT_READY: Tree = {
    "type": "Ready",
    "status": "False",
    "reason": "GuestNotRunning",
    "message": "Guest VM is not reported as running",
    "lastTransitionTime": STAMP,
}


def test_the_first_phase() -> None:
    assert phase_of(build_vmi()) == ""
    assert to_tree(advance(build_vmi(), Progress(phase="Pending"), STAMP)) == {
        "phase": "Pending",
        "conditions": [NOT_READY],
        "phaseTransitionTimestamps": [{"phase": "Pending", "phaseTransitionTimestamp": STAMP}],
    }


def test_an_instance_that_fits_nowhere_says_why() -> None:
    progress = Progress(phase="Scheduling", reason="Unschedulable", message="no room")
    status = to_tree(advance(build_vmi("Pending", "Scheduling"), progress, STAMP))
    assert status["conditions"][1] == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastTransitionTime": STAMP,
    }
    assert [stamp["phase"] for stamp in status["phaseTransitionTimestamps"]] == ["Pending", "Scheduling"]


def test_a_running_instance_says_what_it_was_started_with() -> None:
    domain = {"cpu": {"sockets": 2, "cores": 1, "threads": 1}, "memory": {"guest": "1Gi"}, "machine": {"type": "q35"}}
    vmi = build_vmi("Scheduled", conditions=[{"type": "PodScheduled", "status": "False"}], domain=domain)
    assert to_tree(advance(vmi, Progress(phase="Running", node="n1"), STAMP)) == {
        "phase": "Running",
        "nodeName": "n1",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": STAMP}],
        "phaseTransitionTimestamps": [
            {"phase": "Scheduled", "phaseTransitionTimestamp": EARLIER},
            {"phase": "Running", "phaseTransitionTimestamp": STAMP},
        ],
        "currentCPUTopology": {"sockets": 2, "cores": 1, "threads": 1},
        "memory": {"guestAtBoot": "1Gi", "guestRequested": "1Gi", "guestCurrent": "1Gi"},
        "machine": {"type": "q35"},
    }


def test_a_paused_instance_runs_and_is_not_ready() -> None:
    status = advance(build_vmi("Running"), Progress(phase="Running", paused=True), STAMP)
    assert {one.type: one.status for one in status.conditions or ()} == {"Ready": "False", "Paused": "True"}


@pytest.mark.parametrize(
    ("before", "after"),
    [("Running", "Scheduling"), ("Scheduled", "Pending"), ("Succeeded", "Running"), ("Failed", "Succeeded")],
)
def test_phases_never_go_back(before: Phase, after: Phase) -> None:
    vmi = build_vmi(before)
    assert advance(vmi, Progress(phase=after), STAMP) is vmi.status


@pytest.mark.parametrize("phase", get_args(Phase))
def test_the_same_again_changes_nothing(phase: Phase) -> None:
    vmi = build_vmi()
    vmi.status = advance(vmi, Progress(phase=phase), EARLIER)
    assert advance(vmi, Progress(phase=phase), STAMP) == vmi.status
