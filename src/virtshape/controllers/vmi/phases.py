"""
Phases of an instance: transitions, their times, and the conditions that follow from them.

Pure functions. A phase never goes back, and a final phase never changes.
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
from virtshape.controllers.runtime.conditions import drop_condition, find_condition, put_condition
from virtshape.controllers.vmi.gueststatus import GuestStatus

Phase = Literal["Pending", "Scheduling", "Scheduled", "Running", "Succeeded", "Failed"]

SCHEDULED_CONDITION: Final = "PodScheduled"
STAND_IN_CONDITION: Final = "StandIn"
"""The guest has a replacement for something that is not available on its node."""
RESTART_CONDITION: Final = "RestartRequired"
"""The guest's size differs from its instance's and cannot be changed while it runs."""
PORTS_CONDITION: Final = "PortsOpen"
"""Ports of the guest are reachable on the loopback address of its node."""
LOGINS_CONDITION: Final = "AccessCredentialsSynchronized"
"""Whether the guest agent has set the access credentials."""
NOT_POSSIBLE: Final = "NotPossibleHere"
"""Reason for instances that can never run here."""
_READY: Final = "Ready"
_SYNCHRONIZED: Final = "Synchronized"
_GUEST_CONDITIONS: Final = (
    "Paused",
    "AgentConnected",
    _SYNCHRONIZED,
    STAND_IN_CONDITION,
    RESTART_CONDITION,
    PORTS_CONDITION,
    LOGINS_CONDITION,
)
_RANKS: Final = {"": -1, "Pending": 0, "Scheduling": 1, "Scheduled": 2, "Running": 3, "Succeeded": 4, "Failed": 4}


class Progress(Struct, frozen=True, kw_only=True):
    """The phase that an instance has reached, with reason, message and guest status."""

    phase: Phase
    node: str | None = None
    reason: str | None = None
    message: str | None = None
    guest: GuestStatus | None = None

    @property
    def paused(self) -> bool:
        """True if there is a guest and it is paused."""
        return self.guest is not None and self.guest.state == "paused"


def phase_of(vmi: VirtualMachineInstance) -> str:
    """Return the phase of the instance; empty before the first one."""
    return (vmi.status.phase if vmi.status else None) or ""


def is_refused(vmi: VirtualMachineInstance) -> bool:
    """Return True if the launcher refused the instance: it will never run and uses no resources."""
    reported = find_condition(vmi.status.conditions if vmi.status else None, _SYNCHRONIZED)
    return reported is not None and reported.status == "False" and reported.reason == NOT_POSSIBLE


def advance(vmi: VirtualMachineInstance, progress: Progress, stamp: str) -> VirtualMachineInstanceStatus:
    """Return the instance status after this progress; unchanged if the instance was further already."""
    status = vmi.status or VirtualMachineInstanceStatus()
    before = status.phase or ""
    rank = _RANKS.get(before, 0)  # an unknown phase ranks lowest
    if rank > _RANKS[progress.phase] or (rank == 4 and before != progress.phase):
        return status
    status = replace(status, phase=progress.phase, reason=progress.reason, node_name=progress.node or status.node_name)
    if before != progress.phase:
        status.phase_transition_timestamps = [
            *(status.phase_transition_timestamps or ()),
            VirtualMachineInstancePhaseTransitionTimestamp(progress.phase, stamp),
        ]
    if progress.phase == "Running":
        _describe_size(status, vmi.spec, progress.guest)
    if progress.guest is not None:
        _describe_guest(status, progress.guest)
    status.conditions = _conditions(status, progress, stamp)
    return status


def _describe_size(
    status: VirtualMachineInstanceStatus, spec: VirtualMachineInstanceSpec, guest: GuestStatus | None
) -> None:
    """Set the CPU topology, memory and machine type of a running guest."""
    cpu, memory = spec.domain.cpu, spec.domain.memory
    if guest is not None and guest.topology is not None:
        status.current_cpu_topology = guest.topology
    elif status.current_cpu_topology is None and cpu is not None:
        status.current_cpu_topology = CPUTopology(sockets=cpu.sockets, cores=cpu.cores, threads=cpu.threads)
    if memory is not None:
        has = (guest.memory if guest is not None else None) or (status.memory and status.memory.guest_current)
        before = status.memory or MemoryStatus(memory.guest)
        status.memory = replace(before, guest_requested=memory.guest, guest_current=has or memory.guest)
    if status.machine is None and spec.domain.machine is not None:
        status.machine = Machine(type=spec.domain.machine.type)


def _describe_guest(status: VirtualMachineInstanceStatus, guest: GuestStatus) -> None:
    """Set the fields that the launcher reported; keep the others."""
    if guest.machine:
        status.machine = Machine(type=guest.machine)
    status.interfaces = list(guest.interfaces) or status.interfaces
    status.volume_status = list(guest.volumes) or status.volume_status
    status.guest_os_info = guest.os or status.guest_os_info
    status.active_pods = dict(guest.pods) if guest.pods is not None else status.active_pods
    status.qos_class = guest.qos or status.qos_class


def _conditions(
    status: VirtualMachineInstanceStatus, progress: Progress, stamp: str
) -> list[VirtualMachineInstanceCondition]:
    conditions = put_condition(status.conditions, _ready(progress), stamp)
    if progress.phase in ("Pending", "Scheduling") and progress.reason:
        unscheduled = _condition(SCHEDULED_CONDITION, "False", progress.reason, progress.message)
        conditions = put_condition(conditions, unscheduled, stamp)
    else:
        conditions = drop_condition(conditions, SCHEDULED_CONDITION)
    for name, wanted in _guest_conditions(progress.guest).items():
        conditions = drop_condition(conditions, name) if wanted is None else put_condition(conditions, wanted, stamp)
    return conditions


def _guest_conditions(guest: GuestStatus | None) -> dict[str, VirtualMachineInstanceCondition | None]:
    """Return the conditions that depend on the guest; None for those to remove."""
    reported: dict[str, VirtualMachineInstanceCondition | None] = dict.fromkeys(_GUEST_CONDITIONS)
    if guest is None:
        return reported
    if guest.state == "paused":
        by_user = guest.reason in ("", "PausedByUser")
        message = "VMI was paused by user" if by_user else guest.message
        reported["Paused"] = _condition("Paused", "True", "PausedByUser" if by_user else guest.reason, message)
    if guest.agent:
        reported["AgentConnected"] = _condition("AgentConnected", "True")
    if guest.logins is not None:
        reason = "NotInGuest" if guest.logins else None
        reported[LOGINS_CONDITION] = _condition(
            LOGINS_CONDITION, "False" if guest.logins else "True", reason, guest.logins or None
        )
    if guest.state in ("waiting", "refused"):
        reported[_SYNCHRONIZED] = _condition(_SYNCHRONIZED, "False", guest.reason or "NotReady", guest.message)
    if guest.stand_ins:
        reported[STAND_IN_CONDITION] = _condition(
            STAND_IN_CONDITION, "True", "NotToBeHadHere", "; ".join(guest.stand_ins)
        )
    if guest.ports:
        reported[PORTS_CONDITION] = _condition(PORTS_CONDITION, "True", "OnLoopback", "; ".join(guest.ports))
    if guest.misfit:
        reported[RESTART_CONDITION] = _condition(RESTART_CONDITION, "True", "LiveChangeFailed", guest.misfit)
    return reported


def _ready(progress: Progress) -> VirtualMachineInstanceCondition:
    match progress.phase:
        case "Running" if progress.guest is not None and progress.guest.unready:
            return _condition(_READY, "False", "GuestNotReachable", progress.guest.unready)
        case "Running" if not progress.paused:
            return _condition(_READY, "True")
        case "Running":
            return _condition(_READY, "False", "GuestNotRunning", "Guest VM is not reported as running")
        case "Succeeded" | "Failed":
            return _condition(_READY, "False", "PodTerminating", progress.message or "the guest has ended")
        case _:
            message = progress.guest.message if progress.guest is not None else ""
            return _condition(_READY, "False", "GuestNotRunning", message or "Guest VM is not reported as running")


def _condition(
    name: str, status: str, reason: str | None = None, message: str | None = None
) -> VirtualMachineInstanceCondition:
    return VirtualMachineInstanceCondition(name, status, reason, message)
