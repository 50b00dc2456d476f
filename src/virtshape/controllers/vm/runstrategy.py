"""
Run strategies: whether a VM's instance is to be started, stopped or left alone.

Pure: sees the VM, its instance and the time, and says what to do; never does it.
"""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.machine import VirtualMachine, VirtualMachineSpec, VirtualMachineStateChangeRequest
from virtshape.api.kubevirt.status import VirtualMachineInstanceStatus
from virtshape.controllers.runtime.clock import parse_time
from virtshape.controllers.runtime.conditions import find_condition

ALWAYS: Final = "Always"
HALTED: Final = "Halted"
MANUAL: Final = "Manual"
ONCE: Final = "Once"
RERUN_ON_FAILURE: Final = "RerunOnFailure"
START: Final = "Start"
STOP: Final = "Stop"
FINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})

Action = Literal["start", "stop", "switch on", "wait", "nothing"]


class Decision(Struct, frozen=True):
    """What to do now, why, and when to look again if it is to wait."""

    action: Action
    reason: str = ""
    seconds: float = 0.0


NOTHING: Final = Decision("nothing")


def run_strategy(spec: VirtualMachineSpec) -> str:
    """The strategy that a VM states, in either form."""
    if spec.run_strategy:
        return spec.run_strategy
    return ALWAYS if spec.running else HALTED


def is_final(vmi: VirtualMachineInstance) -> bool:
    """Whether the instance has ended and will not run again."""
    return vmi.status is not None and vmi.status.phase in FINAL_PHASES


def is_being_deleted(vmi: VirtualMachineInstance) -> bool:
    """Whether the instance has been deleted and is on its way out."""
    return vmi.metadata is not None and vmi.metadata.deletion_timestamp is not None


def drop_done_requests(
    requests: Sequence[VirtualMachineStateChangeRequest], vmi: VirtualMachineInstance | None, strategy: str
) -> list[VirtualMachineStateChangeRequest]:
    """The requests that still have to be carried out: a stop until its instance is gone, a start until one is there."""
    left = [request for request in requests if not _is_called_off(request, strategy)]
    while left and _is_done(left[0], vmi):
        del left[0]
    return left


def _is_done(request: VirtualMachineStateChangeRequest, vmi: VirtualMachineInstance | None) -> bool:
    if request.action == STOP:
        return vmi is None or (request.uid is not None and request.uid != _uid(vmi))
    return vmi is not None


def _is_called_off(request: VirtualMachineStateChangeRequest, strategy: str) -> bool:
    """Whether it asks for nothing, or is what is left of a restart: a halted VM is asked so only to start paused."""
    if request.action not in (START, STOP):
        return True
    return strategy == HALTED and request.action == START and (request.data or {}).get("paused") != "true"


def decide_run(
    vm: VirtualMachine,
    vmi: VirtualMachineInstance | None,
    requests: Sequence[VirtualMachineStateChangeRequest],
    now: float,
) -> Decision:
    """What the VM's strategy asks for; `requests` are those not yet carried out."""
    if vm.metadata is not None and vm.metadata.deletion_timestamp is not None:
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
            return Decision("switch on", "a start was requested")
        case "Manual" if asked:
            return Decision("start", "a start was requested")
        case "RerunOnFailure" if asked:
            return _start(vm, "a start was requested", now)
        case "RerunOnFailure" | "Once" if _last_strategy(vm) != strategy:
            return _start(vm, f"the run strategy is {strategy}", now)
        case _:
            return NOTHING


def _start(vm: VirtualMachine, reason: str, now: float) -> Decision:
    """Start, or wait for what is left of the time that failures ask for."""
    failure = vm.status.start_failure if vm.status else None
    if failure is None or failure.retry_after_timestamp is None:
        return Decision("start", reason)
    left = parse_time(failure.retry_after_timestamp) - now
    return Decision("wait", "earlier starts failed", left) if left > 0 else Decision("start", reason)


def _stop(vmi: VirtualMachineInstance | None, reason: str) -> Decision:
    return NOTHING if vmi is None or is_being_deleted(vmi) else Decision("stop", reason)


def _explain_end(vmi: VirtualMachineInstance) -> str:
    """How the instance ended, in words that outlive it with those who look at its VM."""
    status = vmi.status or VirtualMachineInstanceStatus()
    reported = find_condition(status.conditions, "Ready")
    how = "the instance has failed" if status.phase == "Failed" else "the instance has ended"
    return f"{how}: {reported.message}" if reported is not None and reported.message else how


def _last_strategy(vm: VirtualMachine) -> str | None:
    return vm.status.run_strategy if vm.status else None


def _uid(vmi: VirtualMachineInstance) -> str | None:
    return vmi.metadata.uid if vmi.metadata else None


def needs_rerun(vm: VirtualMachine, vmi: VirtualMachineInstance) -> bool:
    """Whether the instance ended in a way after which the strategy wants another one, once it is gone."""
    failed = vmi.status is not None and vmi.status.phase == "Failed"
    return failed and run_strategy(vm.spec) == RERUN_ON_FAILURE
