"""
The status of a claim, and whether it is bound, filled and large enough.

Pure.
"""

from msgspec.structs import replace

from virtshape.api.core.claim import PersistentVolumeClaim, PersistentVolumeClaimStatus
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.controllers.storage.binding import STORAGE, requested_size, volume_size
from virtshape.controllers.storage.classes import annotation
from virtshape.controllers.storage.names import POD_PHASE, UPLOAD_TARGET

FILLED = "Succeeded"


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim has its volume."""
    return claim.status is not None and claim.status.phase == "Bound" and _names_volume(claim)


def _names_volume(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec and claim.spec.volume_name)


def is_filled(claim: PersistentVolumeClaim) -> bool:
    """Whether nothing is to come into the claim any more."""
    phase = annotation(claim.metadata, POD_PHASE)
    return phase == FILLED or (phase is None and annotation(claim.metadata, UPLOAD_TARGET) is None)


def describe_bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaimStatus:
    """The status of a claim that is bound to a volume."""
    before = claim.status or PersistentVolumeClaimStatus()
    offered = volume.spec
    return replace(
        before,
        phase="Bound",
        access_modes=list(offered.access_modes) if offered and offered.access_modes else None,
        capacity=dict(offered.capacity) if offered and offered.capacity else None,
    )


def describe_unbound(claim: PersistentVolumeClaim, phase: str) -> PersistentVolumeClaimStatus:
    """The status of a claim that waits for a volume or has lost it."""
    return replace(claim.status or PersistentVolumeClaimStatus(), phase=phase)


def is_too_small(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a claim asks for more than its volume has."""
    wanted = requested_size(claim)
    return wanted is not None and wanted.value() > volume_size(volume)


def enlarge(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolume:
    """The volume with the size that the claim asks for."""
    wanted = requested_size(claim)
    if volume.spec is None or wanted is None:
        return volume
    return replace(volume, spec=replace(volume.spec, capacity={**(volume.spec.capacity or {}), STORAGE: wanted}))
