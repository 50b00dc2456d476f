"""
Properties of PersistentVolumeClaims: storage class, size, binding, content type, and whether uploads populate them.

The API server and the storage controllers share these functions.
"""

from collections.abc import Iterable
from typing import Final

from virtshape.api.cdi import Content, DataVolume
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import ObjectMeta, find_annotation
from virtshape.api.ownerreferences import is_controlled_by
from virtshape.api.quantity import Quantity
from virtshape.api.storage import StorageClass
from virtshape.api.wellknown import CONTENT_TYPE, DEFAULT_CLASS, POD_PHASE, POD_RESTARTS, UPLOAD_TARGET

FILLED: Final = "Succeeded"
"""The phase of a data transfer that has populated its claim."""
STORAGE: Final = "storage"
"""The name of the resource that specifies the size, in a claim's requests and a volume's capacity."""
_OLD_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


def class_name(claim: PersistentVolumeClaim) -> str | None:
    """Return the claim's storage class name; None if it is unset, an empty string if the claim requests no class."""
    stated = claim.spec.storage_class_name if claim.spec else None
    return stated if stated is not None else find_annotation(claim.metadata, _OLD_CLASS)


def find_default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the newest storage class that is annotated as the default, or None."""
    defaults = [one for one in classes if any(find_annotation(one.metadata, key) == "true" for key in DEFAULT_CLASS)]
    return max(defaults, key=_age, default=None)


def _age(one: StorageClass) -> tuple[str, str]:
    metadata = one.metadata
    return metadata.creation_timestamp or "", metadata.name or ""


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return True if the volume is reserved for this claim."""
    reference = volume.spec.claim_ref if volume.spec else None
    metadata = claim.metadata
    if reference is None or (reference.namespace, reference.name) != (metadata.namespace, metadata.name):
        return False
    return not reference.uid or reference.uid == metadata.uid


def is_bound_to(claim: PersistentVolumeClaim, volume: PersistentVolume | None) -> bool:
    """
    Return True if the claim refers to the volume, and the volume's `claimRef` has the claim's name and UID.

    The claim's own fields do not prove that it is bound, because users can write to the claim.
    """
    if volume is None or claim.spec is None or not claim.spec.volume_name:
        return False
    reference = volume.spec.claim_ref if volume.spec else None
    names_each_other = claim.spec.volume_name == volume.metadata.name and is_for(volume, claim)
    return names_each_other and reference is not None and bool(reference.uid)


def requested_size(claim: PersistentVolumeClaim) -> Quantity | None:
    """Return the size that a claim requests, or None."""
    resources = claim.spec.resources if claim.spec else None
    return ((resources.requests if resources else None) or {}).get(STORAGE)


def find_claim_size(claim: PersistentVolumeClaim) -> int | None:
    """Return the claim's capacity in bytes, or the requested size before the claim is bound; None if it has neither."""
    capacity = (claim.status.capacity if claim.status else None) or {}
    size = capacity.get(STORAGE) or requested_size(claim)
    return size.value() if size is not None else None


def claim_mode(claim: PersistentVolumeClaim) -> str:
    """Return the volume mode of a claim: `Block` or `Filesystem`."""
    stated = claim.spec.volume_mode if claim.spec else None
    return "Block" if stated == "Block" else "Filesystem"


def volume_size(volume: PersistentVolume) -> int:
    """Return the size of a volume in bytes, or 0 if it is unset."""
    capacity = (volume.spec.capacity if volume.spec else None) or {}
    return capacity.get(STORAGE, Quantity("0")).value()


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Return True if the claim's phase is `Bound` and the claim refers to a volume."""
    return claim.status is not None and claim.status.phase == "Bound" and _names_volume(claim)


def _names_volume(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec and claim.spec.volume_name)


def is_filled(claim: PersistentVolumeClaim) -> bool:
    """Return True if a transfer has populated the claim, or if the claim needs no transfer."""
    phase = find_annotation(claim.metadata, POD_PHASE)
    return phase == FILLED or (phase is None and find_annotation(claim.metadata, UPLOAD_TARGET) is None)


def find_upload_key(
    claim: PersistentVolumeClaim, data_volume: DataVolume | None, volume: PersistentVolume | None
) -> str:
    """
    Return the key of the job that populates a claim from an upload, or an empty string if there is none.

    The key is the UID of the DataVolume that controls the claim, or else the name of the bound volume. The key is read
    from the DataVolume or the volume, not from the claim, because users can write to the claim.
    """
    if data_volume is not None and is_controlled_by(claim.metadata, data_volume):
        return data_volume.metadata.uid or ""
    if volume is None or not is_bound_to(claim, volume):
        return ""
    return volume.metadata.name or ""


def get_content(claim: PersistentVolumeClaim) -> Content:
    """Return the content type of a claim: `kubevirt` (a disk) or `archive`."""
    return "archive" if find_annotation(claim.metadata, CONTENT_TYPE) == "archive" else "kubevirt"


def get_data_volume_content(volume: DataVolume) -> Content:
    """Return the content type of a DataVolume: `kubevirt` (a disk) or `archive`."""
    return "archive" if volume.spec.content_type == "archive" else "kubevirt"


def count_failures(metadata: ObjectMeta) -> int:
    """Return the number of rejected uploads to a claim, from its annotations."""
    text = find_annotation(metadata, POD_RESTARTS) or ""
    return int(text) if text.isascii() and text.isdigit() else 0


def count_attempts(volume: DataVolume) -> int:
    """Return the number of failed transfers for a DataVolume, from its status."""
    return (volume.status.restart_count if volume.status else None) or 0


def is_upload_target(claim: PersistentVolumeClaim, data_volume: DataVolume | None) -> bool:
    """
    Return True if an upload populates the claim directly, without a DataVolume or a data source.

    `data_volume` is the DataVolume with the claim's name and namespace, if there is one.
    """
    spec = claim.spec
    names_source = spec is not None and (spec.data_source is not None or spec.data_source_ref is not None)
    is_owned = data_volume is not None and is_controlled_by(claim.metadata, data_volume)
    return find_annotation(claim.metadata, UPLOAD_TARGET) is not None and not names_source and not is_owned
