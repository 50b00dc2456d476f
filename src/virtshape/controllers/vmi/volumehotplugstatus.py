"""
Status of hotplugged volumes: phases with KubeVirt's names, and the events that follow from changes.

The functions are pure. Unlike in KubeVirt, there is no attachment pod: a claim is available on its node as soon as
it is bound.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.status import HotplugVolumeStatus, PersistentVolumeClaimInfo, VolumeStatus
from virtshape.api.kubevirt.volume import Volume, is_hotpluggable
from virtshape.engine.volumehotplug import get_claim_name

PENDING: Final = "Pending"
BOUND: Final = "Bound"
ATTACHED_TO_NODE: Final = "AttachedToNode"
READY: Final = "Ready"
DETACHING: Final = "Detaching"
VOLUME_READY: Final = "VolumeReady"
DETACHING_REASON: Final = "HotplugVolumeDetaching"
DETACHED_REASON: Final = "HotplugVolumeDetached"
_UNBOUND: Final = frozenset({"ClaimNotFound", "ClaimNotBound", "DataVolumeNotReady"})
_WAITS: Final = frozenset({"ClaimNotBound", "DataVolumeNotReady", DETACHING_REASON})
"""Reasons for a delayed attachment or detachment that do not count as errors."""


class VolumeProblem(NamedTuple):
    """Why a volume is not attached yet, or not detached yet."""

    reason: str
    message: str
    is_on_node: bool = False
    """True if the claim is ready but not attached to the guest."""


class VolumeEvent(NamedTuple):
    """An event about a hotplugged volume."""

    reason: str
    message: str
    warning: bool


def describe_hotplugged(
    vmi: VirtualMachineInstance, targets: Mapping[str, str], problems: Mapping[str, VolumeProblem]
) -> Iterator[VolumeStatus]:
    """Yield the status of each hotplugged volume; `targets` are the device names of attached volumes by volume name."""
    for volume in vmi.spec.volumes or ():
        if is_hotpluggable(volume):
            yield _describe(volume, targets.get(volume.name), problems.get(volume.name))
    names = {volume.name for volume in vmi.spec.volumes or ()}
    for known in (vmi.status.volume_status if vmi.status else None) or ():
        if known.hotplug_volume is None or known.name in names or known.name not in targets:
            continue
        problem = problems.get(known.name)
        yield VolumeStatus(
            known.name,
            targets[known.name],
            phase=DETACHING,
            reason=problem.reason if problem else DETACHING_REASON,
            message=problem.message if problem else f"Waiting for the guest to release volume {known.name}",
            persistent_volume_claim_info=known.persistent_volume_claim_info,
            hotplug_volume=HotplugVolumeStatus(),
        )


def _describe(volume: Volume, target: str | None, problem: VolumeProblem | None) -> VolumeStatus:
    claim = PersistentVolumeClaimInfo(claim_name=get_claim_name(volume))
    status = VolumeStatus(
        volume.name, target or "", persistent_volume_claim_info=claim, hotplug_volume=HotplugVolumeStatus()
    )
    if target is not None:
        status.phase, status.reason = READY, VOLUME_READY
        status.message = f"Successfully attach hotplugged volume {volume.name} to VM"
    elif problem is not None:
        on_node = ATTACHED_TO_NODE if problem.is_on_node else BOUND
        status.phase = PENDING if problem.reason in _UNBOUND else on_node
        status.reason, status.message = problem.reason, problem.message
    else:
        status.phase, status.reason, status.message = PENDING, "VolumePending", f"Volume {volume.name} is not attached"
    return status


def list_volume_events(before: VirtualMachineInstance, after: VirtualMachineInstance) -> Iterator[VolumeEvent]:
    """Yield an event for each hotplugged volume that is new, has a new reason or message, or was detached."""
    old, new = _index(before), _index(after)
    for name, status in new.items():
        known = old.get(name)
        if known is not None and (known.reason, known.message) == (status.reason, status.message):
            continue
        is_fine = status.reason in _WAITS or status.phase == READY
        yield VolumeEvent(status.reason or "", status.message or "", warning=not is_fine)
    attached = {name for name, status in old.items() if status.phase in (READY, DETACHING)}
    for name in sorted(attached - new.keys()):
        yield VolumeEvent(DETACHED_REASON, f"Detached hotplugged volume {name} from VM", warning=False)


def _index(vmi: VirtualMachineInstance) -> dict[str, VolumeStatus]:
    known = (vmi.status.volume_status if vmi.status else None) or ()
    return {status.name: status for status in known if status.hotplug_volume is not None}
