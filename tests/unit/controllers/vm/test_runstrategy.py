"""Decisions of each run strategy."""

import pytest
from tests.support.build import build_vm
from tests.support.instances import EARLIER, LATER, NOW, build_vmi

from virtshape.api.codec import from_tree, to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachineStateChangeRequest
from virtshape.api.model import JsonObject
from virtshape.controllers.vm.runstrategy import decide_run, drop_done_requests, needs_rerun
from virtshape.controllers.vm.startfailure import MAX_DELAY_SECONDS

START: JsonObject = {"action": "Start"}
PAUSED: JsonObject = {"action": "Start", "data": {"paused": "true"}}
STOP: JsonObject = {"action": "Stop", "uid": "i1"}
STARTING = build_vmi("Pending", "Scheduling")
RUNNING = build_vmi("Running")
ENDED = build_vmi("Running", "Succeeded")
FAILED = build_vmi("Running", "Failed")
GOING = build_vmi("Running", is_deleting=True)


def requests(*trees: JsonObject) -> list[VirtualMachineStateChangeRequest]:
    return [from_tree(tree, VirtualMachineStateChangeRequest) for tree in trees]


@pytest.mark.parametrize(
    ("strategy", "vmi", "asked", "action"),
    [
        ("Always", None, [], "start"),
        ("Always", STARTING, [], "nothing"),
        ("Always", RUNNING, [], "nothing"),
        ("Always", ENDED, [], "stop"),
        ("Always", FAILED, [], "stop"),
        ("Always", GOING, [], "nothing"),
        ("Always", RUNNING, [STOP, START], "stop"),
        ("Always", None, [START], "start"),
        ("Halted", None, [], "nothing"),
        ("Halted", None, [PAUSED], "set running"),
        ("Halted", RUNNING, [], "stop"),
        ("Halted", ENDED, [], "stop"),
        ("Halted", GOING, [], "nothing"),
        ("Manual", None, [], "nothing"),
        ("Manual", None, [START], "start"),
        ("Manual", RUNNING, [], "nothing"),
        ("Manual", RUNNING, [STOP], "stop"),
        ("Manual", ENDED, [], "nothing"),
        ("Manual", ENDED, [STOP, START], "stop"),
        ("RerunOnFailure", None, [], "start"),
        ("RerunOnFailure", RUNNING, [], "nothing"),
        ("RerunOnFailure", RUNNING, [STOP], "stop"),
        ("RerunOnFailure", FAILED, [], "stop"),
        ("RerunOnFailure", ENDED, [], "stop"),
        ("Once", None, [], "start"),
        ("Once", RUNNING, [], "nothing"),
        ("Once", ENDED, [], "nothing"),
        ("Once", FAILED, [], "nothing"),
        ("WaitAsReceiver", None, [], "nothing"),
    ],
)
def test_action_for_a_vm_depends_on_its_run_strategy(
    strategy: str, vmi: VirtualMachineInstance | None, asked: list[JsonObject], action: str
) -> None:
    vm = build_vm(runStrategy=strategy)
    assert decide_run(vm, vmi, requests(*asked), NOW).action == action


@pytest.mark.parametrize(
    ("strategy", "asked", "action"),
    [
        ("RerunOnFailure", [], "nothing"),
        ("RerunOnFailure", [START], "start"),
        ("Once", [], "nothing"),
        ("Once", [START], "nothing"),
        ("Always", [], "start"),
    ],
)
def test_run_strategy_once_never_starts_a_vm_again_but_other_strategies_do(
    strategy: str, asked: list[JsonObject], action: str
) -> None:
    vm = build_vm(runStrategy=strategy, status={"runStrategy": strategy})
    assert decide_run(vm, None, requests(*asked), NOW).action == action


@pytest.mark.parametrize(
    ("retry_after", "action", "seconds"), [(LATER, "wait", 60.0), (EARLIER, "start", 0.0)], ids=["early", "due"]
)
def test_start_is_delayed_after_failures(retry_after: str, action: str, seconds: float) -> None:
    vm = build_vm(status={"startFailure": {"retryAfterTimestamp": retry_after}})
    decision = decide_run(vm, None, [], NOW)
    assert (decision.action, decision.seconds) == (action, seconds)


def test_start_is_not_delayed_after_the_clock_was_set_back() -> None:
    vm = build_vm(status={"startFailure": {"retryAfterTimestamp": LATER}})
    assert decide_run(vm, None, [], NOW - MAX_DELAY_SECONDS).action == "start"


def test_vm_being_deleted_stops_and_never_starts() -> None:
    vm = build_vm()
    vm.metadata.deletion_timestamp = EARLIER
    assert decide_run(vm, RUNNING, [], NOW).action == "stop"
    assert decide_run(vm, None, [], NOW).action == "nothing"


@pytest.mark.parametrize(
    ("asked", "vmi", "left"),
    [
        ([STOP, START], RUNNING, [STOP, START]),
        ([STOP, START], None, [START]),
        ([STOP, START], build_vmi("Running", uid="i2"), []),
        ([START], RUNNING, []),
        ([START], None, [START]),
        ([{"action": "Stop"}], RUNNING, [{"action": "Stop"}]),
        ([{"action": "Stop"}], None, []),
        ([{"action": "Sing"}, START], None, [START]),
    ],
    ids=[
        "pending",
        "stopped",
        "restarted",
        "started",
        "to start",
        "stop of any instance",
        "nothing runs",
        "no request",
    ],
)
def test_completed_state_change_requests_are_removed(
    asked: list[JsonObject], vmi: VirtualMachineInstance | None, left: list[JsonObject]
) -> None:
    assert to_tree(drop_done_requests(requests(*asked), vmi, "Manual")) == left


@pytest.mark.parametrize(
    ("asked", "vmi", "left"),
    [([STOP, START], GOING, [STOP]), ([START], None, []), ([PAUSED], None, [PAUSED])],
    ids=["while the instance ends", "after the instance ended", "paused start"],
)
def test_start_requests_of_a_halted_vm_are_removed_unless_they_start_it_paused(
    asked: list[JsonObject], vmi: VirtualMachineInstance | None, left: list[JsonObject]
) -> None:
    assert to_tree(drop_done_requests(requests(*asked), vmi, "Halted")) == left


@pytest.mark.parametrize(
    ("strategy", "vmi", "again"),
    [("RerunOnFailure", FAILED, True), ("RerunOnFailure", ENDED, False), ("Always", FAILED, False)],
    ids=["failed", "succeeded", "started anyway"],
)
def test_rerun_on_failure_restarts_only_failed_instances(
    strategy: str, vmi: VirtualMachineInstance, again: bool
) -> None:
    assert needs_rerun(build_vm(runStrategy=strategy), vmi) is again


NOT_READY: JsonObject = {
    "type": "Ready",
    "status": "False",
    "reason": "QemuKilled",
    "message": "QEMU was killed by SIGKILL",
}
ENDS = {
    "failed with a message": (
        build_vmi("Failed", conditions=[NOT_READY]),
        "the instance has failed: QEMU was killed by SIGKILL",
    ),
    "failed": (FAILED, "the instance has failed"),
    "ended": (ENDED, "the instance has ended"),
}


@pytest.mark.parametrize(("vmi", "reason"), ENDS.values(), ids=ENDS)
def test_reason_of_a_stop_includes_how_the_instance_ended(vmi: VirtualMachineInstance, reason: str) -> None:
    assert decide_run(build_vm(runStrategy="Always"), vmi, [], NOW).reason == reason
