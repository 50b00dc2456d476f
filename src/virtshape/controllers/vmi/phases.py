"""
Phases of an instance: transitions, their times, and the conditions that follow from them.

The functions are pure. An instance never returns to an earlier phase, and a final phase never changes.
"""

from typing import Final, Literal

from msgspec.structs import replace

from virtshape.api.kubevirt.conditions import drop_condition, find_condition, put_condition
from virtshape.api.kubevirt.domain import CPUTopology, Machine
from virtshape.api.kubevirt.instance import VirtualMachineInstance, VirtualMachineInstanceSpec, is_final
from virtshape.api.kubevirt.status import (
    MemoryStatus,
    VirtualMachineInstanceCondition,
    VirtualMachineInstanceGuestOSInfo,
    VirtualMachineInstancePhaseTransitionTimestamp,
    VirtualMachineInstanceStatus,
    VolumeStatus,
)
from virtshape.controllers.vmi.gueststatus import GuestState, GuestStatus

Phase = Literal["Pending", "Scheduling", "Scheduled", "Running", "Succeeded", "Failed"]

SCHEDULED_CONDITION: Final = "PodScheduled"
STAND_IN_CONDITION: Final = "StandIn"
"""Condition: the guest runs with a substitute for a feature that its node does not have."""
RESTART_CONDITION: Final = "RestartRequired"
"""Condition: the guest's size differs from that of its instance and cannot be changed while the guest runs."""
PORTS_CONDITION: Final = "PortsOpen"
"""Condition: ports of the guest are reachable, on the loopback address of its node or at the address of its pod."""
MIGRATABLE_CONDITION: Final = "LiveMigratable"
"""Condition that is always false, because live migration is not supported."""
LOGINS_CONDITION: Final = "AccessCredentialsSynchronized"
"""Condition: the guest agent has set the access credentials."""
NOT_POSSIBLE: Final = "NotPossibleHere"
"""Reason for instances that the launcher can never run."""
NOT_RESPONDING: Final = "GuestNotResponding"
"""Reason for instances whose QEMU process runs but does not respond."""
FAILED_CREATE: Final = "FailedCreate"
"""Reason for instances whose pod or claim the API server refuses."""
_NOT_MIGRATABLE: Final = ("NotMigratable", "virtshape does not support live migration: restart the VM to move it")
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
_WAY: Final[tuple[Phase, ...]] = ("Pending", "Scheduling", "Scheduled", "Running")
_PHASES: Final[dict[GuestState, Phase]] = {
    "placing": "Scheduling",
    "waiting": "Scheduled",
    "refused": "Scheduled",
    "starting": "Scheduled",
    "running": "Running",
    "paused": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
}
_RANKS: Final = {"": -1, "Pending": 0, "Scheduling": 1, "Scheduled": 2, "Running": 3, "Succeeded": 4, "Failed": 4}


def phase_of(vmi: VirtualMachineInstance) -> str:
    """Return the phase of the instance; empty if it has none yet."""
    return (vmi.status.phase if vmi.status else None) or ""


def is_refused(vmi: VirtualMachineInstance) -> bool:
    """Return True if the launcher refused the instance, which therefore never runs and uses no resources."""
    reported = find_condition(vmi.status.conditions if vmi.status else None, _SYNCHRONIZED)
    return reported is not None and reported.status == "False" and reported.reason == NOT_POSSIBLE


def uses_node(vmi: VirtualMachineInstance, node: str) -> bool:
    """Return True if the instance uses resources of this node."""
    scheduled = vmi.status is not None and vmi.status.node_name == node
    return scheduled and not is_final(vmi) and not is_refused(vmi)


def set_guest_status(vmi: VirtualMachineInstance, guest: GuestStatus, stamp: str) -> VirtualMachineInstanceStatus:
    """Return the instance status for the state of its guest; unchanged if the instance is already in a later phase."""
    reasons = {"failed": guest.reason or "Failed", "placing": guest.reason or None}
    return _advance(
        vmi,
        _PHASES[guest.state],
        stamp,
        node=guest.node,
        reason=reasons.get(guest.state),
        message=guest.message,
        guest=guest,
    )


def set_failure(vmi: VirtualMachineInstance, reason: str, message: str, stamp: str) -> VirtualMachineInstanceStatus:
    """Return the instance status after a failed start of its guest, which is retried; the phase does not change."""
    status = vmi.status or VirtualMachineInstanceStatus()
    if not status.phase:
        status = set_phase(vmi, "Pending", stamp)
    ready = _condition(_READY, "False", "GuestNotRunning", message)
    failed = _condition(_SYNCHRONIZED, "False", reason, message)
    conditions = put_condition(put_condition(status.conditions, ready, stamp), failed, stamp)
    return replace(status, conditions=conditions)


def set_phase(
    vmi: VirtualMachineInstance,
    phase: Phase,
    stamp: str,
    *,
    node: str = "",
    reason: str | None = None,
    message: str = "",
) -> VirtualMachineInstanceStatus:
    """Return the status of an instance without a guest in this phase, or the current status if its phase is later."""
    return _advance(vmi, phase, stamp, node=node, reason=reason, message=message, guest=None)


def _advance(
    vmi: VirtualMachineInstance,
    phase: Phase,
    stamp: str,
    *,
    node: str,
    reason: str | None,
    message: str,
    guest: GuestStatus | None,
) -> VirtualMachineInstanceStatus:
    status = vmi.status or VirtualMachineInstanceStatus()
    before = status.phase or ""
    rank = _RANKS.get(before, 0)  # an unknown phase ranks like Pending
    if rank > _RANKS[phase] or (rank == 4 and before != phase):
        return status
    status = replace(status, phase=phase, reason=reason, node_name=node or status.node_name)
    if before != phase:
        reached = (*_list_skipped(before, phase), phase)
        status.phase_transition_timestamps = [
            *(status.phase_transition_timestamps or ()),
            *(VirtualMachineInstancePhaseTransitionTimestamp(one, stamp) for one in reached),
        ]
    if phase == "Running":
        _describe_size(status, vmi.spec, guest)
        status.migration_method = find_migration_method(vmi.spec)
    if guest is not None:
        _describe_guest(status, guest)
    conditions = put_condition(status.conditions, _ready(phase, reason, message, guest), stamp)
    if phase == "Running":
        conditions = put_condition(conditions, _condition(MIGRATABLE_CONDITION, "False", *_NOT_MIGRATABLE), stamp)
    if phase in ("Pending", "Scheduling") and reason:
        unscheduled = _condition(SCHEDULED_CONDITION, "False", reason, message or None)
        conditions = put_condition(conditions, unscheduled, stamp)
    else:
        conditions = drop_condition(conditions, SCHEDULED_CONDITION)
    for name, wanted in _guest_conditions(guest).items():
        conditions = drop_condition(conditions, name) if wanted is None else put_condition(conditions, wanted, stamp)
    status.conditions = conditions
    return status


def _list_skipped(before: str, after: Phase) -> tuple[Phase, ...]:
    """Return the phases between two phases, which were skipped but get a transition time too."""
    if after not in _WAY:
        return ()
    start = _WAY.index(before) + 1 if before in _WAY else 0
    return _WAY[start : _WAY.index(after)]


def _describe_size(
    status: VirtualMachineInstanceStatus, spec: VirtualMachineInstanceSpec, guest: GuestStatus | None
) -> None:
    """Set CPU topology, memory and machine type in the status, from the running guest or else from the spec."""
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


def find_migration_method(spec: VirtualMachineInstanceSpec) -> str:
    """Return the migration method by KubeVirt's rule: BlockMigration, unless all volumes are shared."""
    filesystems = {each.name for each in spec.domain.devices.filesystems or ()}
    for volume in spec.volumes or ():
        is_shared = volume.persistent_volume_claim or volume.data_volume or volume.host_disk
        if not is_shared and volume.name not in filesystems:
            return "BlockMigration"
    return "LiveMigration"


def _describe_guest(status: VirtualMachineInstanceStatus, guest: GuestStatus) -> None:
    """Set the status fields that the launcher reported; do not change other fields."""
    if guest.machine:
        status.machine = Machine(type=guest.machine)
    status.interfaces = list(guest.interfaces) or status.interfaces
    status.volume_status = list(guest.volumes) or _list_permanent(status) or None
    has_run = status.phase == "Running"
    status.guest_os_info = (
        guest.os or status.guest_os_info or (VirtualMachineInstanceGuestOSInfo() if has_run else None)
    )
    status.launcher_container_image_version = guest.image or status.launcher_container_image_version
    status.runtime_user = guest.user if guest.user is not None else status.runtime_user
    status.active_pods = dict(guest.pods) if guest.pods is not None else status.active_pods
    status.qos_class = guest.qos or status.qos_class


def _list_permanent(status: VirtualMachineInstanceStatus) -> list[VolumeStatus]:
    return [volume for volume in status.volume_status or () if volume.hotplug_volume is None]


def _guest_conditions(guest: GuestStatus | None) -> dict[str, VirtualMachineInstanceCondition | None]:
    """Return the conditions that depend on the guest, by type; None for conditions to remove."""
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
    if guest.substitutions:
        reported[STAND_IN_CONDITION] = _condition(
            STAND_IN_CONDITION, "True", "NotSupportedHere", "; ".join(guest.substitutions)
        )
    if guest.ports:
        place = "OnLoopback" if guest.pods is None else "OnPodAddress"
        reported[PORTS_CONDITION] = _condition(PORTS_CONDITION, "True", place, "; ".join(guest.ports))
    if guest.resize_error:
        reported[RESTART_CONDITION] = _condition(RESTART_CONDITION, "True", "LiveChangeFailed", guest.resize_error)
    return reported


def _ready(
    phase: Phase, reason: str | None, message: str, guest: GuestStatus | None
) -> VirtualMachineInstanceCondition:
    match phase:
        case "Running" if guest is not None and guest.unresponsive:
            return _condition(_READY, "False", NOT_RESPONDING, guest.unresponsive)
        case "Running" if guest is not None and guest.unready:
            return _condition(_READY, "False", "GuestNotReachable", guest.unready)
        case "Running" if guest is None or guest.state != "paused":
            return _condition(_READY, "True")
        case "Running":
            return _condition(_READY, "False", "GuestNotRunning", "Guest VM is not reported as running")
        case "Succeeded":
            return _condition(_READY, "False", "GuestShutDown", message or "the guest has shut down")
        case "Failed":
            return _condition(_READY, "False", reason or "Failed", message or "the guest has failed")
        case _:
            explained = guest.message if guest is not None else ""
            return _condition(_READY, "False", "GuestNotRunning", explained or "Guest VM is not reported as running")


def _condition(
    name: str, status: str, reason: str | None = None, message: str | None = None
) -> VirtualMachineInstanceCondition:
    return VirtualMachineInstanceCondition(name, status, reason, message)
