"""
Start, stop and restart a VM: decide from its run strategy which change to store.

All functions are pure: results depend only on the VM, its VMI and the options.
"""

from typing import Annotated, Final, Literal, NamedTuple

from msgspec import Meta, Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance, is_final
from virtshape.api.kubevirt.virtualmachine import (
    ALWAYS,
    HALTED,
    MANUAL,
    ONCE,
    RERUN_ON_FAILURE,
    START,
    STOP,
    VirtualMachine,
)
from virtshape.api.kubevirt.virtualmachine import run_strategy as find_run_strategy
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError

NOT_RUNNING: Final = "VM is not running"
STALE: Final = "the object has been modified; please apply your changes to the latest version and try again"
_UNSEEN_PHASES: Final = ("", "Unknown")
_NEGATIVE_PERIOD: Final = "gracePeriod has to be greater or equal to 0"

Seconds = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class StartOptions(Struct, rename="camel"):
    """Options of the action `start`."""

    paused: bool = False
    dry_run: list[str] = []


class StopOptions(Struct, rename="camel"):
    """Options of the action `stop`; the grace period is in seconds."""

    grace_period: Seconds | None = None
    dry_run: list[str] = []


class RestartOptions(Struct, rename="camel"):
    """Options of the action `restart`; the only valid grace period is 0, which forces the restart."""

    grace_period_seconds: Seconds | None = None
    dry_run: list[str] = []


class Change(NamedTuple):
    """A change to fields in the spec of a VM or VMI, or in the status of a VM."""

    part: Literal["spec", "status"]
    values: JsonObject
    expected: JsonObject | None = None
    """The values that these fields had when the change was decided; the change is rejected if they differ now."""


def start(vm: VirtualMachine, vmi: VirtualMachineInstance | None, options: StartOptions) -> Change:
    """Return the change that starts the VM; raise StatusError if the VM cannot be started."""
    strategy = find_run_strategy(vm.spec)
    if vmi is not None and not is_final(vmi) and _phase(vmi) not in _UNSEEN_PHASES:
        raise _conflict(vm, "VM is already running")
    wanted: JsonObject = {"action": START}
    if options.paused:
        wanted["data"] = {"paused": "true"}
    match strategy:
        case "Halted" if not options.paused:
            return _switch(vm, on=True)
        case "RerunOnFailure" if vmi is not None and _phase(vmi) == "Failed":
            raise _conflict(vm, f"{strategy} does not support starting VM from failed state: it restarts automatically")
        case "Halted" | "Manual" | "RerunOnFailure":
            ended = vmi is not None and (strategy == MANUAL or _phase(vmi) == "Succeeded")
            first = [_stop(vmi)] if vmi is not None and ended and strategy in (MANUAL, RERUN_ON_FAILURE) else []
            return _request(vm, *first, wanted)
        case _:
            raise _conflict(vm, f"{strategy} does not support manual start requests")


def stop(vm: VirtualMachine, vmi: VirtualMachineInstance | None, options: StopOptions) -> Change:
    """Return the change that stops the VM; raise StatusError if the VM cannot be stopped."""
    if options.grace_period is not None and options.grace_period < 0:
        raise StatusError(400, "BadRequest", _NEGATIVE_PERIOD)
    strategy = find_run_strategy(vm.spec)
    is_running = vmi is not None and not is_final(vmi)
    match strategy:
        case "Always" | "Once" | "WaitAsReceiver":
            return _switch(vm, on=False)
        case _ if vmi is None or not is_running:
            raise _conflict(vm, NOT_RUNNING)
        case "Halted":
            period = vmi.spec.termination_grace_period_seconds
            if options.grace_period is None or (period is not None and options.grace_period >= period):
                raise _conflict(vm, f"{HALTED} only supports manual stop requests with a shorter graceperiod")
            return _request(vm, _stop(vmi))
        case _:
            return _request(vm, _stop(vmi))


def restart(vm: VirtualMachine, vmi: VirtualMachineInstance | None, options: RestartOptions) -> Change:
    """Return the change that restarts the VM; raise StatusError if the VM cannot be restarted."""
    period = options.grace_period_seconds
    if period is not None and period != 0:
        message = "For force restart, only gracePeriod=0 is supported for now" if period > 0 else _NEGATIVE_PERIOD
        raise StatusError(400, "BadRequest", message)
    strategy = find_run_strategy(vm.spec)
    if strategy in (HALTED, ONCE):
        raise _conflict(vm, f"{strategy} does not support manual restart requests")
    if vmi is None:
        raise _conflict(vm, NOT_RUNNING)
    return _request(vm, _stop(vmi), {"action": START})


def conflict(kind: str, name: str, reason: str) -> StatusError:
    """Return the 409 error for an action that the object's state does not allow."""
    message = f'Operation cannot be fulfilled on {kind}.kubevirt.io "{name}": {reason}'
    return StatusError(409, "Conflict", message).about("kubevirt.io", kind, name)


def _conflict(vm: VirtualMachine, message: str) -> StatusError:
    return conflict("virtualmachine", vm.metadata.name or "", message)


def _switch(vm: VirtualMachine, *, on: bool) -> Change:
    """Return the change to `running` or `runStrategy`, whichever the VM uses."""
    if vm.spec.running is not None:
        return Change("spec", {"running": on})
    return Change("spec", {"runStrategy": ALWAYS if on else HALTED})


def _request(vm: VirtualMachine, *wanted: JsonObject) -> Change:
    """Return the change that asks the VM controller to start or stop the VM; only a stop replaces pending requests."""
    is_stop = [one["action"] for one in wanted] == [STOP]
    if vm.status is not None and vm.status.state_change_requests and not is_stop:
        raise _conflict(vm, "unable to complete request: stop/start already underway")
    status: JsonObject = {"stateChangeRequests": list(wanted)}
    if vm.status is None or not vm.status.printable_status:
        status["printableStatus"] = "Stopped"
    if vm.status is not None and vm.status.start_failure is not None:
        status["startFailure"] = None
    return Change("status", status)


def _stop(vmi: VirtualMachineInstance) -> JsonObject:
    uid = vmi.metadata.uid
    return {"action": STOP, "uid": uid} if uid else {"action": STOP}


def _phase(vmi: VirtualMachineInstance) -> str:
    return (vmi.status.phase if vmi.status else None) or ""
