"""Upload targets: claims with an upload annotation, and DataVolumes with an upload source."""

from typing import Final

from msgspec import Struct

from virtshape.api.cdi import Content, DataVolume
from virtshape.api.codec import decode
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.persistentvolume import PersistentVolume
from virtshape.api.meta import find_annotation
from virtshape.api.ownerreferences import is_controlled_by
from virtshape.api.status import StatusError
from virtshape.api.wellknown import POD_PHASE, POD_READY, RUNNING_MESSAGE, UPLOAD_TARGET
from virtshape.engine.claims import (
    FILLED,
    count_attempts,
    count_failures,
    find_upload_key,
    get_content,
    get_data_volume_content,
    is_bound_to,
    volume_size,
)
from virtshape.store.record import Key
from virtshape.store.store import Store

CLAIMS: Final = "persistentvolumeclaims"
_VOLUMES: Final = "datavolumes.cdi.kubevirt.io"
_PERSISTENT_VOLUMES: Final = "persistentvolumes"
_READY_PHASE: Final = "UploadReady"


class Target(Struct, frozen=True, kw_only=True):
    """The current state of an upload target."""

    uid: str
    key: str
    """The key of the job that fills the claim."""
    content: Content = "kubevirt"
    size: int | None = None
    """Capacity of the claim in bytes, if it is bound."""
    is_ready: bool = False
    is_filled: bool = False
    failures: int = 0
    """Number of uploads whose data could not be used."""
    message: str = ""
    """The reason why the data of the last upload could not be used."""


def get_target(store: Store, namespace: str, name: str) -> Target:
    """Return the upload target with this claim name; raise StatusError if the target accepts no upload."""
    volume = _find_volume(store, namespace, name)
    record = store.get(Key(CLAIMS, namespace, name))
    if record is not None:
        claim = decode(record.value, PersistentVolumeClaim)
        return _describe_claim(claim, volume, _find_bound(store, claim), name)
    if volume is None:
        message = f'{CLAIMS} "{name}" not found'
        raise StatusError(404, "NotFound", message).about("", CLAIMS, name)
    if volume.spec.source is None or volume.spec.source.upload is None:
        raise _refuse(name)
    return _describe_volume(volume)


def _find_volume(store: Store, namespace: str, name: str) -> DataVolume | None:
    record = store.get(Key(_VOLUMES, namespace, name))
    return decode(record.value, DataVolume) if record is not None else None


def _find_bound(store: Store, claim: PersistentVolumeClaim) -> PersistentVolume | None:
    name = (claim.spec.volume_name if claim.spec else None) or ""
    record = store.get(Key(_PERSISTENT_VOLUMES, "", name)) if name else None
    return decode(record.value, PersistentVolume) if record is not None else None


def _describe_claim(
    claim: PersistentVolumeClaim, volume: DataVolume | None, bound: PersistentVolume | None, name: str
) -> Target:
    metadata = claim.metadata
    if find_annotation(metadata, UPLOAD_TARGET) is None:
        raise _refuse(name)
    owner = volume if volume is not None and is_controlled_by(metadata, volume) else None
    if owner is not None and (owner.spec.source is None or owner.spec.source.upload is None):
        raise _refuse(name)
    target = _describe_volume(owner) if owner is not None else None
    key = find_upload_key(claim, owner, bound)
    return Target(
        uid=metadata.uid or "",
        key=key,
        content=target.content if target is not None else get_content(claim),
        size=volume_size(bound) if bound is not None and is_bound_to(claim, bound) else None,
        is_ready=find_annotation(metadata, POD_READY) == "true",
        is_filled=find_annotation(metadata, POD_PHASE) == FILLED,
        failures=target.failures if target is not None else count_failures(metadata),
        message=target.message if target is not None else find_annotation(metadata, RUNNING_MESSAGE) or "",
    )


def _describe_volume(volume: DataVolume) -> Target:
    metadata, status = volume.metadata, volume.status
    conditions = (status.conditions if status is not None else None) or ()
    running = next((one for one in conditions if one.type == "Running"), None)
    phase = status.phase if status is not None else None
    return Target(
        uid=metadata.uid or "",
        key=metadata.uid or "",
        content=get_data_volume_content(volume),
        is_ready=phase == _READY_PHASE,
        failures=count_attempts(volume) + int(phase == "Failed"),
        message=(running.message if running is not None else None) or "",
    )


def _refuse(name: str) -> StatusError:
    message = (
        f"PVC {name} accepts no upload: it has no annotation {UPLOAD_TARGET}, or its DataVolume has no upload source"
    )
    return StatusError(409, "Conflict", message).about("", CLAIMS, name)
