"""
The life of an instance: its phases, when each was entered, and the conditions that go with them.

Pure: no clock of its own, no I/O. A phase never goes back, and a final one never changes.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from virtshape.api.kubevirt.domain import CPUTopology, Machine
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.status import (
    MemoryStatus,
    VirtualMachineInstanceCondition,
    VirtualMachineInstancePhaseTransitionTimestamp,
    VirtualMachineInstanceStatus,
)
from virtshape.control.conditions import drop_condition, put_condition

Phase = Literal["Pending", "Scheduling", "Scheduled", "Running", "Succeeded", "Failed"]

SCHEDULED_CONDITION: Final = "PodScheduled"
_READY: Final = "Ready"
_RANKS: Final = {"": -1, "Pending": 0, "Scheduling": 1, "Scheduled": 2, "Running": 3, "Succeeded": 4, "Failed": 4}


class Progress(Struct, frozen=True, kw_only=True):
    """How far an instance is to be, and what is to be said of it."""

    phase: Phase
    node: str | None = None
    reason: str | None = None
    message: str | None = None
    paused: bool = False


def phase_of(vmi: VirtualMachineInstance) -> str:
    """The phase that the instance is in; empty before its first."""
    return (vmi.status.phase if vmi.status else None) or ""


def advance(vmi: VirtualMachineInstance, progress: Progress, stamp: str) -> VirtualMachineInstanceStatus:
    """The status of the instance once it is as far as `progress` says; the same if it was further already."""
    status = vmi.status or VirtualMachineInstanceStatus()
    before = status.phase or ""
    if _RANKS[before] > _RANKS[progress.phase] or (_RANKS[before] == 4 and before != progress.phase):
        return status
    status = replace(status, phase=progress.phase, reason=progress.reason, node_name=progress.node or status.node_name)
    if before != progress.phase:
        status.phase_transition_timestamps = [
            *(status.phase_transition_timestamps or ()),
            VirtualMachineInstancePhaseTransitionTimestamp(progress.phase, stamp),
        ]
    if progress.phase == "Running":
        _describe_guest(status, vmi.spec)
    status.conditions = _conditions(status, progress, stamp)
    return status


def _describe_guest(status: VirtualMachineInstanceStatus, spec: VirtualMachineInstanceSpec) -> None:
    """Say what the guest was started with, once."""
    cpu, memory = spec.domain.cpu, spec.domain.memory
    if status.current_cpu_topology is None and cpu is not None:
        status.current_cpu_topology = CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads)
    if status.memory is None and memory is not None:
        status.memory = MemoryStatus(memory.guest, memory.guest, memory.guest)
    if status.machine is None and spec.domain.machine is not None:
        status.machine = Machine(type=spec.domain.machine.type)


def _conditions(
    status: VirtualMachineInstanceStatus, progress: Progress, stamp: str
) -> list[VirtualMachineInstanceCondition]:
    conditions = put_condition(status.conditions, _ready(progress), stamp)
    if progress.phase in ("Pending", "Scheduling") and progress.reason:
        unscheduled = _condition(SCHEDULED_CONDITION, "False", progress.reason, progress.message)
        conditions = put_condition(conditions, unscheduled, stamp)
    else:
        conditions = drop_condition(conditions, SCHEDULED_CONDITION)
    if progress.paused:
        words = "VMI was paused by user"
        return put_condition(conditions, _condition("Paused", "True", "PausedByUser", words), stamp)
    return drop_condition(conditions, "Paused")


def _ready(progress: Progress) -> VirtualMachineInstanceCondition:
    match progress.phase:
        case "Running" if not progress.paused:
            return _condition(_READY, "True")
        case "Running":
            return _condition(_READY, "False", "GuestNotRunning", "Guest VM is not reported as running")
        case "Succeeded" | "Failed":
            return _condition(_READY, "False", "PodTerminating", progress.message or "the guest has ended")
        case _:
            return _condition(_READY, "False", "GuestNotRunning", "Guest VM is not reported as running")


def _condition(
    name: str, status: str, reason: str | None = None, message: str | None = None
) -> VirtualMachineInstanceCondition:
    return VirtualMachineInstanceCondition(name, status, reason, message)
