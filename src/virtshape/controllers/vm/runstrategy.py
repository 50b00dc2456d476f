"""
Run strategies: decide whether to start or stop the instance of a VM, to wait, or to do nothing.

The functions are pure: results depend only on the VM, its instance, the pending requests and the time.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.kubevirt.conditions import find_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance, is_final
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.api.kubevirt.virtualmachine import (
    ALWAYS,
    HALTED,
    RERUN_ON_FAILURE,
    START,
    STOP,
    VirtualMachine,
    VirtualMachineStateChangeRequest,
    run_strategy,
)
from virtshape.api.times import parse_time
from virtshape.controllers.vm.startfailure import MAX_DELAY_SECONDS

Action = Literal["start", "stop", "set running", "wait", "nothing"]


class Decision(Struct, frozen=True):
    """An action, its reason, and the delay before the next check if the action is to wait."""

    action: Action
    reason: str = ""
    seconds: float = 0.0


NOTHING: Final = Decision("nothing")


def is_being_deleted(vmi: VirtualMachineInstance) -> bool:
    """Return True if the instance is being deleted."""
    return vmi.metadata.deletion_timestamp is not None


def drop_done_requests(
    requests: Sequence[VirtualMachineStateChangeRequest], vmi: VirtualMachineInstance | None, strategy: str
) -> list[VirtualMachineStateChangeRequest]:
    """
    Return the pending requests, without those that are obsolete or done.

    A stop is done once the instance to stop is gone, and a start once an instance exists.
    """
    left = [request for request in requests if not _is_obsolete(request, strategy)]
    while left and _is_done(left[0], vmi):
        del left[0]
    return left


def _is_done(request: VirtualMachineStateChangeRequest, vmi: VirtualMachineInstance | None) -> bool:
    if request.action == STOP:
        return vmi is None or (request.uid is not None and request.uid != _uid(vmi))
    return vmi is not None


def _is_obsolete(request: VirtualMachineStateChangeRequest, strategy: str) -> bool:
    """Return True if the action is unknown, or is a start that a Halted VM ignores because it is not a paused start."""
    if request.action not in (START, STOP):
        return True
    return strategy == HALTED and request.action == START and (request.data or {}).get("paused") != "true"


def decide_run(
    vm: VirtualMachine,
    vmi: VirtualMachineInstance | None,
    requests: Sequence[VirtualMachineStateChangeRequest],
    now: float,
) -> Decision:
    """Return the next action for the VM by its run strategy and its pending requests."""
    if vm.metadata.deletion_timestamp is not None:
        return _stop(vmi, "the VM is being deleted")
    if vmi is not None:
        return _decide_with(vmi, run_strategy(vm.spec), requests)
    return _decide_without(vm, run_strategy(vm.spec), requests, now)


def _decide_with(
    vmi: VirtualMachineInstance, strategy: str, requests: Sequence[VirtualMachineStateChangeRequest]
) -> Decision:
    if strategy == HALTED:
        return _stop(vmi, "the run strategy is Halted")
    if requests and requests[0].action == STOP:
        return _stop(vmi, "a stop was requested")
    if strategy in (ALWAYS, RERUN_ON_FAILURE) and is_final(vmi):
        return _stop(vmi, _explain_end(vmi))
    return NOTHING


def _decide_without(
    vm: VirtualMachine, strategy: str, requests: Sequence[VirtualMachineStateChangeRequest], now: float
) -> Decision:
    asked = bool(requests) and requests[0].action == START
    match strategy:
        case "Always":
            return _start(vm, "the run strategy is Always", now)
        case "Halted" if asked:
            return Decision("set running", "a start was requested")
        case "Manual" if asked:
            return Decision("start", "a start was requested")
        case "RerunOnFailure" if asked:
            return _start(vm, "a start was requested", now)
        case "RerunOnFailure" | "Once" if _last_strategy(vm) != strategy:
            return _start(vm, f"the run strategy is {strategy}", now)
        case _:
            return NOTHING


def _start(vm: VirtualMachine, reason: str, now: float) -> Decision:
    """Return the decision to start, or to wait until the back-off after failed starts is over."""
    failure = vm.status.start_failure if vm.status else None
    if failure is None or failure.retry_after_timestamp is None:
        return Decision("start", reason)
    left = parse_time(failure.retry_after_timestamp) - now
    # If the time is further away than any delay, the clock was set back since the failure.
    is_waiting = 0 < left <= MAX_DELAY_SECONDS
    return Decision("wait", "earlier starts failed", left) if is_waiting else Decision("start", reason)


def _stop(vmi: VirtualMachineInstance | None, reason: str) -> Decision:
    return NOTHING if vmi is None or is_being_deleted(vmi) else Decision("stop", reason)


def _explain_end(vmi: VirtualMachineInstance) -> str:
    """Return a message about how the instance ended, for the events of its VM."""
    status = vmi.status or VirtualMachineInstanceStatus()
    reported = find_condition(status.conditions, "Ready")
    how = "the instance has failed" if status.phase == "Failed" else "the instance has ended"
    return f"{how}: {reported.message}" if reported is not None and reported.message else how


def _last_strategy(vm: VirtualMachine) -> str | None:
    return vm.status.run_strategy if vm.status else None


def _uid(vmi: VirtualMachineInstance) -> str | None:
    return vmi.metadata.uid


def starts_again(strategy: str, requests: Sequence[VirtualMachineStateChangeRequest]) -> bool:
    """Return True if the VM is started again after its instance is stopped: the stop is part of a restart."""
    return strategy == ALWAYS or any(request.action == START for request in requests)


def needs_rerun(vm: VirtualMachine, vmi: VirtualMachineInstance) -> bool:
    """Return True if the instance has failed and the run strategy restarts it."""
    failed = vmi.status is not None and vmi.status.phase == "Failed"
    return failed and run_strategy(vm.spec) == RERUN_ON_FAILURE
