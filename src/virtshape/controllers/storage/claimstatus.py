"""
Status of a claim: bound, populated and large enough.

Pure functions.
"""

from msgspec.structs import replace

from virtshape.api.core.claim import PersistentVolumeClaim, PersistentVolumeClaimStatus
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.controllers.storage.binding import STORAGE, requested_size, volume_size
from virtshape.controllers.storage.classes import annotation
from virtshape.controllers.storage.names import POD_PHASE, UPLOAD_TARGET

FILLED = "Succeeded"


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Return True if the claim is bound to a volume."""
    return claim.status is not None and claim.status.phase == "Bound" and _names_volume(claim)


def _names_volume(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec and claim.spec.volume_name)


def is_filled(claim: PersistentVolumeClaim) -> bool:
    """Return True if the claim is populated, or never needs to be."""
    phase = annotation(claim.metadata, POD_PHASE)
    return phase == FILLED or (phase is None and annotation(claim.metadata, UPLOAD_TARGET) is None)


def describe_bound(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaimStatus:
    """Return the status of a claim bound to this volume."""
    before = claim.status or PersistentVolumeClaimStatus()
    offered = volume.spec
    return replace(
        before,
        phase="Bound",
        access_modes=list(offered.access_modes) if offered and offered.access_modes else None,
        capacity=dict(offered.capacity) if offered and offered.capacity else None,
    )


def describe_unbound(claim: PersistentVolumeClaim, phase: str) -> PersistentVolumeClaimStatus:
    """Return the status of a claim without a volume."""
    return replace(claim.status or PersistentVolumeClaimStatus(), phase=phase)


def is_too_small(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return True if the claim requests more than the size of its volume."""
    wanted = requested_size(claim)
    return wanted is not None and wanted.value() > volume_size(volume)


def enlarge(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolume:
    """Return the volume with the size that the claim requests."""
    wanted = requested_size(claim)
    if volume.spec is None or wanted is None:
        return volume
    return replace(volume, spec=replace(volume.spec, capacity={**(volume.spec.capacity or {}), STORAGE: wanted}))
