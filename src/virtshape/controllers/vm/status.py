"""
Status of a VM: conditions, printable status and size, from the VM, its instance and failures.

The functions are pure. They preserve the revision references, which `revisions` sets.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.kubevirt.conditions import drop_condition, find_condition, is_condition_true, put_condition
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec, is_final
from virtshape.api.kubevirt.virtualmachine import (
    ALWAYS,
    RERUN_ON_FAILURE,
    EffectiveSize,
    VirtualMachine,
    VirtualMachineCondition,
    VirtualMachineStateChangeRequest,
    VirtualMachineStatus,
    run_strategy,
)
from virtshape.controllers.vm.runstrategy import is_being_deleted
from virtshape.controllers.vm.startfailure import count_failure
from virtshape.engine.topology import Topology

FAILURE: Final = "Failure"
READY: Final = "Ready"
RESTART_REQUIRED: Final = "RestartRequired"
VOLUMES_READY: Final = "DataVolumesReady"
GENERATION_ANNOTATION: Final = "kubevirt.io/vm-generation"
_MAX_NUMBER_LENGTH: Final = 20
_OF_INSTANCES_ONLY: Final = frozenset({"Synchronized", "Provisioning"})
_HELD: Final = {
    "ErrImagePull": "ErrImagePull",
    "ImagePullBackOff": "ImagePullBackOff",
    "NotPossibleHere": "ErrorUnschedulable",
    "FailedCreate": "ErrorUnschedulable",
    "ClaimNotFound": "ErrorPvcNotFound",
}
"""Printable status of a VM whose instance cannot be started; the key is the reason."""
_DATA_VOLUME_WAITS: Final = frozenset({"WaitForFirstConsumer", "PendingPopulation"})


class ConditionReason(Struct, frozen=True):
    """Reason and message of a condition."""

    reason: str
    message: str


class StatusInputs(Struct, kw_only=True):
    """Everything that the status of a VM depends on, except the VM itself."""

    vmi: VirtualMachineInstance | None = None
    """The VM's instance, if it has one."""
    requests: Sequence[VirtualMachineStateChangeRequest] = ()
    """Pending start and stop requests."""
    failure: ConditionReason | None = None
    """Failure of this reconcile."""
    volume_phases: Sequence[str] = ()
    """Phases of the VM's DataVolumes and claims; `Missing` if one does not exist."""
    waiting: ConditionReason | None = None
    """Why DataVolumes and claims prevent the start, if they do."""
    restart_reason: str = ""
    """Why changes to the VM since its instance was started need a restart, if they do."""
    effective: EffectiveSize | None = None
    """Size computed in this reconcile, if any."""
    starting: bool = False
    """True if an instance must be started and waits for its volumes."""
    run_strategy: str | None = None
    """Run strategy applied in this reconcile, if any."""


def make_status(vm: VirtualMachine, seen: StatusInputs, now: float, stamp: str) -> VirtualMachineStatus:
    """Return the new status of the VM; `stamp` is the current time as a string."""
    old = vm.status or VirtualMachineStatus()
    generation = vm.metadata.generation
    failure = count_failure(vm, seen.vmi, now)
    status = replace(
        old,
        created=True if seen.vmi is not None else None,
        ready=True if seen.vmi is not None and _is_ready(seen.vmi) else None,
        conditions=make_conditions(old.conditions, seen, stamp) or None,
        run_strategy=seen.run_strategy or old.run_strategy,
        observed_generation=started_generation(seen.vmi) or old.observed_generation,
        desired_generation=generation,
        start_failure=failure,
        state_change_requests=list(seen.requests) or None,
        effective=seen.effective or old.effective,
    )
    status.printable_status = print_status(replace(vm, status=status), seen)
    return status


def started_generation(vmi: VirtualMachineInstance | None) -> int | None:
    """Return the VM generation that the instance was started from, or None if it is unknown."""
    annotations = (vmi.metadata.annotations if vmi else None) or {}
    stated = annotations.get(GENERATION_ANNOTATION, "")
    return int(stated) if stated.isdecimal() and len(stated) < _MAX_NUMBER_LENGTH else None


def make_conditions(
    old: Sequence[VirtualMachineCondition] | None, seen: StatusInputs, stamp: str
) -> list[VirtualMachineCondition]:
    """Return the VM's conditions: those of the instance, Ready, Failure, DataVolumesReady and RestartRequired."""
    vmi = seen.vmi
    theirs = {
        one.type: VirtualMachineCondition(one.type, one.status, one.reason, one.message, one.last_probe_time)
        for one in (vmi.status.conditions if vmi and vmi.status else None) or ()
        if one.type not in _OF_INSTANCES_ONLY
    }
    if vmi is not None and READY not in theirs:
        message = "Guest VM is not reported as running"
        theirs[READY] = VirtualMachineCondition(READY, "False", "GuestNotRunning", message)
    if vmi is None:
        theirs[READY] = VirtualMachineCondition(READY, "False", "VMINotExists", "VMI does not exist")
    if vmi is None and seen.waiting is not None:
        waiting = seen.waiting
        theirs[VOLUMES_READY] = VirtualMachineCondition(VOLUMES_READY, "False", waiting.reason, waiting.message)
    if seen.failure is not None:
        theirs[FAILURE] = VirtualMachineCondition(FAILURE, "True", seen.failure.reason, seen.failure.message)
    if vmi is not None and seen.restart_reason:
        message = f"the VM was changed after its instance was started; restart it to apply this: {seen.restart_reason}"
        theirs[RESTART_REQUIRED] = VirtualMachineCondition(RESTART_REQUIRED, "True", "RestartRequired", message)
    conditions = list(old or ())
    for one in old or ():
        if one.type not in theirs:
            conditions = drop_condition(conditions, one.type)
    for condition in theirs.values():
        conditions = put_condition(conditions, condition, stamp)
    return conditions


def print_status(vm: VirtualMachine, seen: StatusInputs) -> str:
    """Return the printable status of the VM."""
    vmi = seen.vmi
    if vm.metadata.deletion_timestamp is not None:
        return "Terminating"
    if vmi is not None and not is_final(vmi):
        return _print_instance(vmi, seen)
    if _is_crash_looping(vm):
        return "CrashLoopBackOff"
    if seen.starting:
        return _print_volumes(seen.volume_phases) or "Starting"
    if vmi is None and seen.volume_phases:
        return _print_volumes(seen.volume_phases) or "Stopped"
    return "Stopped"


def _print_instance(vmi: VirtualMachineInstance, seen: StatusInputs) -> str:
    status = vmi.status
    if is_being_deleted(vmi):
        return "Stopping"
    conditions = status.conditions if status else None
    if is_condition_true(conditions, "Paused"):
        return "Paused"
    if status is not None and status.phase == "Running":
        return "Running"
    scheduled = find_condition(conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "False" and scheduled.reason == "Unschedulable":
        return "ErrorUnschedulable"
    held = find_condition(conditions, "Synchronized")
    word = _HELD.get(held.reason or "", "") if held is not None and held.status == "False" else ""
    return word or _print_volumes(seen.volume_phases) or "Starting"


def _print_volumes(phases: Sequence[str]) -> str:
    """Return the printable status caused by the VM's volumes; empty if they are ready."""
    if "Failed" in phases:
        return "DataVolumeError"
    if "Missing" in phases:
        return "ErrorPvcNotFound"
    if any(phase in _DATA_VOLUME_WAITS for phase in phases):
        return "WaitingForVolumeBinding"
    return "Provisioning" if any(phase != "Succeeded" for phase in phases) else ""


def _is_crash_looping(vm: VirtualMachine) -> bool:
    failure = vm.status.start_failure if vm.status else None
    retries = run_strategy(vm.spec) in (ALWAYS, RERUN_ON_FAILURE)
    return retries and failure is not None and bool(failure.consecutive_fail_count)


def _is_ready(vmi: VirtualMachineInstance) -> bool:
    return vmi.status is not None and is_condition_true(vmi.status.conditions, READY)


def measure(spec: VirtualMachineInstanceSpec) -> EffectiveSize:
    """Return vCPUs, CPU topology and memory of an instance spec."""
    cpu, memory = spec.domain.cpu, spec.domain.memory
    topology = Topology()
    if cpu is not None:
        topology = Topology(cpu.sockets or 1, cpu.cores or 1, cpu.threads or 1)
    shown = f"{topology.sockets}x{topology.cores}x{topology.threads}"
    return EffectiveSize(topology.vcpus, memory.guest if memory else None, shown)
