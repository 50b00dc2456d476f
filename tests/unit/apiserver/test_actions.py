"""Start, stop and restart by run strategy, and preconditions of guest actions."""

from typing import Any

import pytest
from tests.support.build import build_vm

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guests import check_guest_action
from virtshape.apiserver.subresources.running import (
    Change,
    RestartOptions,
    StartOptions,
    StopOptions,
    restart,
    start,
    stop,
)

START: JsonObject = {"action": "Start"}
PAUSED: JsonObject = {"action": "Start", "data": {"paused": "true"}}
STOP: JsonObject = {"action": "Stop", "uid": "u1"}
RUNNING = "Running"


def build_vmi(phase: str | None, *, paused: bool = False, **spec: Any) -> VirtualMachineInstance | None:
    if phase is None:
        return None
    conditions = [{"type": "Paused", "status": "True"}] if paused else None
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "vm1", "uid": "u1"},
        "spec": {"domain": {"devices": {}}, **spec},
        "status": {"phase": phase, "conditions": conditions},
    }
    return from_tree(tree, VirtualMachineInstance)


def build(strategy: str | None, **spec: Any) -> Any:
    return build_vm(runStrategy=strategy, **spec)


def spec(**values: Any) -> Change:
    return Change("spec", values)


def ask(*requests: JsonObject) -> Change:
    return Change("status", {"stateChangeRequests": list(requests), "printableStatus": "Stopped"})


RESTARTING = build_vm(runStrategy="Manual", status={"stateChangeRequests": [STOP, START]})
BACKING_OFF = build_vm(
    runStrategy="RerunOnFailure", status={"startFailure": {"consecutiveFailCount": 3}, "printableStatus": "Stopped"}
)
ACCEPTED: dict[str, tuple[Any, str | None, Any, Any, Change]] = {
    "start of a halted VM": (build("Halted"), None, start, StartOptions(), spec(runStrategy="Always")),
    "start of one that ran": (build("Halted"), "Failed", start, StartOptions(), spec(runStrategy="Always")),
    "start by the older field": (build(None, running=False), None, start, StartOptions(), spec(running=True)),
    "start of a halted VM, paused": (build("Halted"), None, start, StartOptions(paused=True), ask(PAUSED)),
    "start by hand": (build("Manual"), None, start, StartOptions(), ask(START)),
    "start by hand, after it ended": (build("Manual"), "Succeeded", start, StartOptions(), ask(STOP, START)),
    "start of one to rerun": (build("RerunOnFailure"), None, start, StartOptions(), ask(START)),
    "start of one that was done": (build("RerunOnFailure"), "Succeeded", start, StartOptions(), ask(STOP, START)),
    "stop of one that always runs": (build("Always"), None, stop, StopOptions(), spec(runStrategy="Halted")),
    "stop by the older field": (build(None, running=True), RUNNING, stop, StopOptions(), spec(running=False)),
    "stop of one that runs once": (build("Once"), None, stop, StopOptions(), spec(runStrategy="Halted")),
    "stop by hand": (build("Manual"), RUNNING, stop, StopOptions(), ask(STOP)),
    "stop of one to rerun": (build("RerunOnFailure"), RUNNING, stop, StopOptions(), ask(STOP)),
    "stop in place of a restart": (RESTARTING, RUNNING, stop, StopOptions(), ask(STOP)),
    "start while it waits after failures": (
        BACKING_OFF,
        None,
        start,
        StartOptions(),
        Change("status", {"stateChangeRequests": [START], "startFailure": None}),
    ),
    "stop faster": (build("Halted"), RUNNING, stop, StopOptions(grace_period=0), ask(STOP)),
    "restart": (build("Always"), RUNNING, restart, RestartOptions(), ask(STOP, START)),
    "restart at once": (build("Manual"), RUNNING, restart, RestartOptions(grace_period_seconds=0), ask(STOP, START)),
}
UNDERWAY = build_vm(runStrategy="Manual", status={"stateChangeRequests": [START]})
REFUSED: dict[str, tuple[Any, str | None, Any, Any, int, str]] = {
    "start of one that always runs": (build("Always"), None, start, StartOptions(), 409, "Always does not support"),
    "start of one that runs once": (build("Once"), None, start, StartOptions(), 409, "Once does not support manual"),
    "start of a running one": (build("Manual"), RUNNING, start, StartOptions(), 409, "VM is already running"),
    "a second start": (UNDERWAY, None, start, StartOptions(), 409, "already underway"),
    "a second restart": (RESTARTING, RUNNING, restart, RestartOptions(), 409, "already underway"),
    "start of one that is about to rerun": (
        build("RerunOnFailure"),
        "Failed",
        start,
        StartOptions(),
        409,
        "RerunOnFailure does not support starting VM from failed state",
    ),
    "stop of one that does not run": (build("Manual"), None, stop, StopOptions(), 409, "VM is not running"),
    "stop of one that has ended": (build("RerunOnFailure"), "Failed", stop, StopOptions(), 409, "VM is not running"),
    "stop in the past": (build("Always"), RUNNING, stop, StopOptions(grace_period=-1), 400, "greater"),
    "stop of a halted one": (build("Halted"), RUNNING, stop, StopOptions(), 409, "with a shorter graceperiod"),
    "restart of a halted one": (build("Halted"), None, restart, RestartOptions(), 409, "Halted does not support"),
    "restart of nothing": (build("Always"), None, restart, RestartOptions(), 409, "VM is not running"),
    "restart in a while": (
        build("Always"),
        RUNNING,
        restart,
        RestartOptions(grace_period_seconds=5),
        400,
        "only grace",
    ),
    "restart in the past": (build("Always"), RUNNING, restart, RestartOptions(grace_period_seconds=-1), 400, "greater"),
}


@pytest.mark.parametrize(("vm", "phase", "action", "options", "change"), ACCEPTED.values(), ids=ACCEPTED)
def test_action_returns_the_change_of_the_vm(vm: Any, phase: str, action: Any, options: Any, change: Change) -> None:
    assert action(vm, build_vmi(phase), options) == change


@pytest.mark.parametrize(("vm", "phase", "action", "options", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_action_that_the_run_strategy_forbids_is_rejected(
    vm: Any, phase: str, action: Any, options: Any, code: int, words: str
) -> None:
    with pytest.raises(StatusError, match=words) as refused:
        action(vm, build_vmi(phase), options)
    assert refused.value.code == code


ACPI: JsonObject = {"devices": {}, "features": {"acpi": {}}}
GUESTS: dict[str, tuple[Any, str, int, str]] = {
    "pause before it runs": (build_vmi("Scheduling"), "pause", 409, "VMI is not running"),
    "pause twice": (build_vmi(RUNNING, paused=True), "pause", 409, "VMI is already paused"),
    "pause what is watched": (build_vmi(RUNNING, livenessProbe={}), "pause", 403, "LivenessProbe"),
    "go on while running": (build_vmi(RUNNING), "unpause", 409, "VMI is not paused"),
    "reboot while paused": (build_vmi(RUNNING, paused=True), "softreboot", 409, "VMI is paused"),
    "reboot what does not listen": (build_vmi(RUNNING), "softreboot", 409, "neither have the agent connected"),
    "reset what has ended": (build_vmi("Failed"), "reset", 409, "VMI is not running"),
}


@pytest.mark.parametrize(("vmi", "action", "code", "words"), GUESTS.values(), ids=GUESTS)
def test_guest_action_in_wrong_state_is_rejected(vmi: Any, action: str, code: int, words: str) -> None:
    with pytest.raises(StatusError, match=words) as refused:
        check_guest_action(vmi, action)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("vmi", "action"),
    [
        (build_vmi(RUNNING), "pause"),
        (build_vmi(RUNNING, paused=True), "unpause"),
        (build_vmi(RUNNING, domain=ACPI), "softreboot"),
        (build_vmi(RUNNING), "reset"),
    ],
)
def test_valid_guest_action_is_accepted(vmi: Any, action: str) -> None:
    check_guest_action(vmi, action)
