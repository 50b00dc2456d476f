"""Build the PVC, DataVolume and DataSource of an upload."""

from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from virtshape.api.cdi import (
    DataSource,
    DataSourceSource,
    DataSourceSpec,
    DataVolume,
    DataVolumeSource,
    DataVolumeSourcePVC,
    DataVolumeSourceUpload,
    DataVolumeSpec,
    StorageSpec,
)
from virtshape.api.codec import from_tree
from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.core.claimspec import PersistentVolumeClaimSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.api.wellknown import BIND_NOW, CONTENT_TYPE, UPLOAD_TARGET
from virtshape.resolve.infer import KIND_KEYS, NAME_KEYS, InferredRole

Kind = Literal["pvc", "dv"]
_CDI: Final = "cdi.kubevirt.io/v1beta1"
_MODES: Final = {"block": "Block", "filesystem": "Filesystem"}


class UploadRequest(Struct, frozen=True, kw_only=True):
    """The file to upload and its target."""

    kind: Kind
    name: str
    path: Path
    size: Quantity | None = None
    is_archive: bool = False
    storage_class: str = ""
    access_mode: str = ""
    volume_mode: str = ""
    binds_now: bool = False
    creates: bool = True
    forces: bool = False
    has_source: bool = False
    proxy: str = ""
    is_insecure: bool = False
    wait_seconds: int = 300
    tries: int = 5
    defaults: dict[InferredRole, tuple[str, str]] = {}
    """Name and kind of the default instance type and preference."""

    @property
    def content(self) -> str:
        """CDI's content type for the uploaded file."""
        return "archive" if self.is_archive else "kubevirt"


def build_claim(wanted: UploadRequest, namespace: str) -> PersistentVolumeClaim:
    """Return a PVC that waits for an upload."""
    annotations = {UPLOAD_TARGET: "", CONTENT_TYPE: wanted.content}
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=_describe(wanted, namespace, annotations),
        spec=from_tree(
            {"accessModes": [wanted.access_mode or "ReadWriteOnce"], **_storage(wanted)}, PersistentVolumeClaimSpec
        ),
    )


def build_volume(wanted: UploadRequest, namespace: str) -> DataVolume:
    """Return a DataVolume that waits for an upload."""
    modes = {"accessModes": [wanted.access_mode]} if wanted.access_mode else {}
    return DataVolume(
        api_version=_CDI,
        kind="DataVolume",
        metadata=_describe(wanted, namespace, {}),
        spec=DataVolumeSpec(
            source=DataVolumeSource(upload=DataVolumeSourceUpload()),
            content_type=wanted.content,
            storage=from_tree({**modes, **_storage(wanted)}, StorageSpec),
        ),
    )


def build_source(wanted: UploadRequest, namespace: str) -> DataSource:
    """Return the DataSource of the uploaded image."""
    origin = DataSourceSource(pvc=DataVolumeSourcePVC(name=wanted.name, namespace=namespace))
    labels, annotations = describe_defaults(wanted)
    metadata = ObjectMeta(name=wanted.name, namespace=namespace, labels=labels or None, annotations=annotations or None)
    return DataSource(api_version=_CDI, kind="DataSource", metadata=metadata, spec=DataSourceSpec(source=origin))


def describe_defaults(wanted: UploadRequest) -> tuple[dict[str, str], dict[str, str]]:
    """Return the labels and annotations for the default instance type and preference."""
    labels, annotations = {}, {}
    for role, (name, kind) in wanted.defaults.items():
        for keys, text in ((NAME_KEYS[role], name), (KIND_KEYS[role], kind)):
            if text:
                labels[keys.label] = annotations[keys.annotation] = text
    return labels, annotations


def _describe(wanted: UploadRequest, namespace: str, own: dict[str, str]) -> ObjectMeta:
    labels, annotations = describe_defaults(wanted)
    annotations |= own
    if wanted.binds_now:
        annotations[BIND_NOW] = ""
    return ObjectMeta(name=wanted.name, namespace=namespace, labels=labels or None, annotations=annotations or None)


def _storage(wanted: UploadRequest) -> dict[str, object]:
    tree: dict[str, object] = {"resources": {"requests": {"storage": wanted.size}}} if wanted.size else {}
    if wanted.storage_class:
        tree["storageClassName"] = wanted.storage_class
    if wanted.volume_mode:
        tree["volumeMode"] = _MODES[wanted.volume_mode]
    return tree
