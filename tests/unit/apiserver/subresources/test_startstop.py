"""Start, stop and restart for each run strategy."""

from typing import Any

import pytest
from tests.support.build import build_vm
from tests.support.instances import build_vmi_in_phase

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.startstop import (
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


def build(strategy: str | None, **change_spec: Any) -> Any:
    return build_vm(runStrategy=strategy, **change_spec)


def change_spec(**values: Any) -> Change:
    return Change("spec", values)


def request_changes(*requests: JsonObject) -> Change:
    return Change("status", {"stateChangeRequests": list(requests), "printableStatus": "Stopped"})


RESTARTING = build_vm(runStrategy="Manual", status={"stateChangeRequests": [STOP, START]})
BACKING_OFF = build_vm(
    runStrategy="RerunOnFailure", status={"startFailure": {"consecutiveFailCount": 3}, "printableStatus": "Stopped"}
)
ACCEPTED: dict[str, tuple[Any, str | None, Any, Any, Change]] = {
    "start of a halted VM": (build("Halted"), None, start, StartOptions(), change_spec(runStrategy="Always")),
    "start of a halted VM after a failure": (
        build("Halted"),
        "Failed",
        start,
        StartOptions(),
        change_spec(runStrategy="Always"),
    ),
    "start with the running field": (
        build(None, running=False),
        None,
        start,
        StartOptions(),
        change_spec(running=True),
    ),
    "paused start of a halted VM": (build("Halted"), None, start, StartOptions(paused=True), request_changes(PAUSED)),
    "start with Manual": (build("Manual"), None, start, StartOptions(), request_changes(START)),
    "start with Manual after success": (
        build("Manual"),
        "Succeeded",
        start,
        StartOptions(),
        request_changes(STOP, START),
    ),
    "start with RerunOnFailure": (build("RerunOnFailure"), None, start, StartOptions(), request_changes(START)),
    "start with RerunOnFailure after success": (
        build("RerunOnFailure"),
        "Succeeded",
        start,
        StartOptions(),
        request_changes(STOP, START),
    ),
    "stop with Always": (build("Always"), None, stop, StopOptions(), change_spec(runStrategy="Halted")),
    "stop with the running field": (
        build(None, running=True),
        RUNNING,
        stop,
        StopOptions(),
        change_spec(running=False),
    ),
    "stop with Once": (build("Once"), None, stop, StopOptions(), change_spec(runStrategy="Halted")),
    "stop with Manual": (build("Manual"), RUNNING, stop, StopOptions(), request_changes(STOP)),
    "stop with RerunOnFailure": (build("RerunOnFailure"), RUNNING, stop, StopOptions(), request_changes(STOP)),
    "stop during a restart": (RESTARTING, RUNNING, stop, StopOptions(), request_changes(STOP)),
    "start during back-off": (
        BACKING_OFF,
        None,
        start,
        StartOptions(),
        Change("status", {"stateChangeRequests": [START], "startFailure": None}),
    ),
    "stop with a shorter grace period": (
        build("Halted"),
        RUNNING,
        stop,
        StopOptions(grace_period=0),
        request_changes(STOP),
    ),
    "restart": (build("Always"), RUNNING, restart, RestartOptions(), request_changes(STOP, START)),
    "restart with grace period 0": (
        build("Manual"),
        RUNNING,
        restart,
        RestartOptions(grace_period_seconds=0),
        request_changes(STOP, START),
    ),
}
UNDERWAY = build_vm(runStrategy="Manual", status={"stateChangeRequests": [START]})
REFUSED: dict[str, tuple[Any, str | None, Any, Any, int, str]] = {
    "start with Always": (build("Always"), None, start, StartOptions(), 409, "Always does not support"),
    "start with Once": (build("Once"), None, start, StartOptions(), 409, "Once does not support manual"),
    "start of a running VM": (build("Manual"), RUNNING, start, StartOptions(), 409, "VM is already running"),
    "second start": (UNDERWAY, None, start, StartOptions(), 409, "already underway"),
    "second restart": (RESTARTING, RUNNING, restart, RestartOptions(), 409, "already underway"),
    "start with RerunOnFailure after a failure": (
        build("RerunOnFailure"),
        "Failed",
        start,
        StartOptions(),
        409,
        "RerunOnFailure does not support starting VM from failed state",
    ),
    "stop of a stopped VM": (build("Manual"), None, stop, StopOptions(), 409, "VM is not running"),
    "stop of a failed VM": (build("RerunOnFailure"), "Failed", stop, StopOptions(), 409, "VM is not running"),
    "stop with a negative grace period": (build("Always"), RUNNING, stop, StopOptions(grace_period=-1), 400, "greater"),
    "stop of a halted VM": (build("Halted"), RUNNING, stop, StopOptions(), 409, "with a shorter graceperiod"),
    "restart of a halted VM": (build("Halted"), None, restart, RestartOptions(), 409, "Halted does not support"),
    "restart of a stopped VM": (build("Always"), None, restart, RestartOptions(), 409, "VM is not running"),
    "restart with a grace period": (
        build("Always"),
        RUNNING,
        restart,
        RestartOptions(grace_period_seconds=5),
        400,
        "only grace",
    ),
    "restart with a negative grace period": (
        build("Always"),
        RUNNING,
        restart,
        RestartOptions(grace_period_seconds=-1),
        400,
        "greater",
    ),
}


@pytest.mark.parametrize(("vm", "phase", "action", "options", "change"), ACCEPTED.values(), ids=ACCEPTED)
def test_start_stop_or_restart_returns_the_change_of_the_vm(
    vm: Any, phase: str, action: Any, options: Any, change: Change
) -> None:
    assert action(vm, build_vmi_in_phase(phase), options) == change


@pytest.mark.parametrize(("vm", "phase", "action", "options", "code", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_start_stop_or_restart_is_rejected(
    vm: Any, phase: str, action: Any, options: Any, code: int, message: str
) -> None:
    with pytest.raises(StatusError, match=message) as refused:
        action(vm, build_vmi_in_phase(phase), options)
    assert refused.value.code == code
