"""
Build PersistentVolume objects for claims, convert them for storage, and decide their phase.

The functions are pure.
"""

from typing import Final, Literal

from msgspec.structs import replace

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import (
    LocalVolumeSource,
    PersistentVolume,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
)
from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import ObjectMeta, find_annotation
from virtshape.api.quantity import Quantity
from virtshape.api.storage import StorageClass
from virtshape.api.wellknown import KEEPS_BYTES, PROVISIONED_BY, VOLUME_PROTECTION
from virtshape.controllers.storage.protocol import Mode, Volume
from virtshape.engine.claims import STORAGE, claim_mode, requested_size, volume_size

DELETE: Final = "Delete"
BY_RESERVATION: Final = "reservation"
"""Index of volumes by the claim that they are reserved for."""
FREE: Final = ""
"""Index key of volumes without a reservation."""
VolumePhase = Literal["Pending", "Available", "Bound", "Released"]


def name_volume(claim: PersistentVolumeClaim) -> str:
    """Return the name of the volume that is provisioned for a claim."""
    return f"pvc-{claim.metadata.uid}"


def plan_volume(claim: PersistentVolumeClaim) -> Volume:
    """Return the storage volume to create for a claim."""
    size = (requested_size(claim) or Quantity("0")).value()
    return Volume(name_volume(claim), size, "Block" if claim_mode(claim) == "Block" else "Filesystem")


def build_volume(claim: PersistentVolumeClaim, of: StorageClass, path: str) -> PersistentVolume:
    """Build the PersistentVolume for a claim, with this storage class and path."""
    size = requested_size(claim) or Quantity("0")
    return PersistentVolume(
        api_version="v1",
        kind="PersistentVolume",
        metadata=ObjectMeta(
            name=name_volume(claim),
            annotations={PROVISIONED_BY: of.provisioner},
            finalizers=[VOLUME_PROTECTION, KEEPS_BYTES],
        ),
        spec=PersistentVolumeSpec(
            access_modes=list(claim.spec.access_modes) if claim.spec and claim.spec.access_modes else None,
            capacity={STORAGE: size},
            claim_ref=refer_to_claim(claim),
            local=LocalVolumeSource(path=path),
            persistent_volume_reclaim_policy=of.reclaim_policy or DELETE,
            storage_class_name=of.metadata.name,
            volume_mode=claim_mode(claim),
        ),
    )


def refer_to_claim(claim: PersistentVolumeClaim) -> ObjectReference:
    """Return a reference to the claim, including its UID."""
    metadata = claim.metadata
    return ObjectReference(
        name=metadata.name,
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=metadata.namespace,
        uid=metadata.uid,
    )


def list_reservations(volume: PersistentVolume) -> list[str]:
    """Return the index key of a volume: the claim it is reserved for, as `namespace/name`, or `FREE`."""
    reference = volume.spec.claim_ref if volume.spec else None
    return [f"{reference.namespace}/{reference.name}" if reference is not None else FREE]


def read_volume(volume: PersistentVolume) -> Volume:
    """Return the storage volume of a PersistentVolume."""
    mode: Mode = "Block" if volume.spec is not None and volume.spec.volume_mode == "Block" else "Filesystem"
    return Volume(volume.metadata.name or "", volume_size(volume), mode)


def find_path(volume: PersistentVolume) -> str | None:
    """Return the path of a volume on its node, or None."""
    spec = volume.spec or PersistentVolumeSpec()
    if spec.local is not None:
        return spec.local.path
    return spec.host_path.path if spec.host_path is not None else None


def is_provisioned_by(volume: PersistentVolume, provisioner: str) -> bool:
    """Return True if this provisioner created the volume."""
    return find_annotation(volume.metadata, PROVISIONED_BY) == provisioner


def is_deleted_with_claim(volume: PersistentVolume) -> bool:
    """Return True if the volume is deleted with its claim."""
    return volume.spec is not None and volume.spec.persistent_volume_reclaim_policy == DELETE


def decide_phase(volume: PersistentVolume, claim: PersistentVolumeClaim | None) -> VolumePhase:
    """Return the phase of a volume; `claim` is the claim that the volume refers to, or None if it does not exist."""
    reference = volume.spec.claim_ref if volume.spec else None
    if reference is None:
        return "Available"
    if claim is None or (reference.uid and reference.uid != claim.metadata.uid):
        return "Released" if reference.uid else "Available"
    named = claim.spec.volume_name if claim.spec else None
    if named == volume.metadata.name:
        return "Bound"
    if named:  # the claim is bound to another volume
        return "Released"
    return "Pending" if reference.uid else "Available"


def describe_volume(volume: PersistentVolume, phase: VolumePhase, stamp: str) -> PersistentVolumeStatus:
    """Return the status of a volume in this phase."""
    before = volume.status or PersistentVolumeStatus()
    if before.phase == phase:
        return before
    return replace(before, phase=phase, last_phase_transition_time=stamp, message=None, reason=None)
