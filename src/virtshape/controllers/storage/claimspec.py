"""
Build the claim of a DataVolume: size, modes, storage class, labels and annotations.

The functions are pure.
"""

from typing import Final

from msgspec.structs import replace

from virtshape.api.cdi import DataVolume
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec, VolumeResourceRequirements
from virtshape.api.meta import ObjectMeta, find_annotation
from virtshape.api.ownerreferences import find_controller, is_controlled_by, make_owner_reference
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import (
    ALLOW_ADOPTION,
    CONTENT_TYPE,
    POD_PHASE,
    POD_READY,
    POPULATED_FOR,
    PRE_POPULATED,
    UPLOAD_TARGET,
)
from virtshape.engine.claims import STORAGE
from virtshape.resolve.infer import KIND_KEYS, NAME_KEYS

MIB: Final = 1 << 20


def build_claim(
    volume: DataVolume, size: int | None = None, origin: ObjectMeta | None = None, *, is_simulated: bool = False
) -> PersistentVolumeClaim:
    """
    Build the claim that a DataVolume owns, with the name, labels and annotations of the DataVolume.

    `size` is the size of the source, for DataVolumes without a size; `origin` is the metadata of the source. Simulated
    claims are not populated.
    """
    metadata = volume.metadata
    inherited = inherit_defaults(metadata, origin or ObjectMeta())
    own = {CONTENT_TYPE: volume.spec.content_type or "kubevirt"}
    if not is_simulated and not fills_itself(volume):
        own[POD_PHASE] = "Pending"
        if volume.spec.source is not None and volume.spec.source.upload is not None:
            own |= {UPLOAD_TARGET: "", POD_READY: "false"}
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels={**(inherited.labels or {}), **(metadata.labels or {})} or None,
            annotations={**(inherited.annotations or {}), **(metadata.annotations or {}), **own},
            owner_references=[make_owner_reference(volume)],
        ),
        spec=_with_size(_claim_spec(volume), size),
    )


def fills_itself(volume: DataVolume) -> bool:
    """Return True if the claim of a DataVolume has its own data source."""
    wanted = volume.spec.pvc or volume.spec.storage
    return wanted is not None and (wanted.data_source is not None or wanted.data_source_ref is not None)


def states_size(volume: DataVolume) -> bool:
    """Return True if a DataVolume sets its size, or has `spec.pvc`, which is used unchanged."""
    if volume.spec.pvc is not None:
        return True
    resources = volume.spec.storage.resources if volume.spec.storage is not None else None
    return bool(resources is not None and (resources.requests or {}).get(STORAGE))


def _claim_spec(volume: DataVolume) -> PersistentVolumeClaimSpec:
    if volume.spec.pvc is not None:
        return volume.spec.pvc
    asked = volume.spec.storage
    spec = from_tree(to_tree(asked), PersistentVolumeClaimSpec) if asked else PersistentVolumeClaimSpec()
    mode = None if spec.volume_mode == "FromStorageProfile" else spec.volume_mode
    return replace(spec, volume_mode=mode, access_modes=spec.access_modes or ["ReadWriteOnce"])


def _with_size(spec: PersistentVolumeClaimSpec, size: int | None) -> PersistentVolumeClaimSpec:
    if size is None:
        return spec
    resources = spec.resources or VolumeResourceRequirements()
    requests = {STORAGE: Quantity.of(-(-size // MIB) * MIB, "BinarySI"), **(resources.requests or {})}
    return replace(spec, resources=replace(resources, requests=requests))


def inherit_defaults(own: ObjectMeta, origin: ObjectMeta) -> ObjectMeta:
    """Return labels and annotations with the source's default instance type and preference, unless `own` has them."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    for role, names in NAME_KEYS.items():
        if names.label in (own.labels or {}) or names.annotation in (own.annotations or {}):
            continue
        for keys in (names, KIND_KEYS[role]):
            labels |= _pick(origin.labels, keys.label)
            annotations |= _pick(origin.annotations, keys.annotation)
    return ObjectMeta(labels=labels or None, annotations=annotations or None)


def _pick(texts: dict[str, str] | None, key: str) -> dict[str, str]:
    return {key: texts[key]} if texts and key in texts else {}


def can_adopt(volume: DataVolume, claim: PersistentVolumeClaim) -> bool:
    """Return True if an existing claim may be adopted as already populated."""
    metadata = volume.metadata
    if find_controller(claim.metadata) is not None and not is_controlled_by(claim.metadata, volume):
        return False
    if (
        find_annotation(claim.metadata, POPULATED_FOR) == metadata.name
        or find_annotation(metadata, PRE_POPULATED) is not None
    ):
        return True
    return "true" in (find_annotation(metadata, ALLOW_ADOPTION), find_annotation(claim.metadata, ALLOW_ADOPTION))
