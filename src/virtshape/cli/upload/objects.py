"""
The objects that an upload fills, and the name that VMs find it by.

Pure: flags in, objects out.
"""

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
from virtshape.api.core.volume import PersistentVolumeClaimSpec
from virtshape.api.meta import ObjectMeta
from virtshape.api.quantity import Quantity
from virtshape.controllers.storage.names import BIND_NOW, CONTENT_TYPE, UPLOAD_TARGET
from virtshape.resolve.infer import KIND_KEYS, NAME_KEYS, InferredRole

Kind = Literal["pvc", "dv"]
_CDI: Final = "cdi.kubevirt.io/v1beta1"
_MODES: Final = {"block": "Block", "filesystem": "Filesystem"}


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be uploaded, and to what."""

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
    """The name and kind of what goes with the image; without a kind, a cluster-wide one."""

    @property
    def content(self) -> str:
        """What the claim is to hold, in CDI's word for it."""
        return "archive" if self.is_archive else "kubevirt"


def build_claim(wanted: Wanted, namespace: str) -> PersistentVolumeClaim:
    """A claim that waits for an upload."""
    annotations = {UPLOAD_TARGET: "", CONTENT_TYPE: wanted.content}
    return PersistentVolumeClaim(
        api_version="v1",
        kind="PersistentVolumeClaim",
        metadata=_describe(wanted, namespace, annotations),
        spec=from_tree(
            {"accessModes": [wanted.access_mode or "ReadWriteOnce"], **_storage(wanted)}, PersistentVolumeClaimSpec
        ),
    )


def build_volume(wanted: Wanted, namespace: str) -> DataVolume:
    """A DataVolume that waits for an upload."""
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


def build_source(wanted: Wanted, namespace: str) -> DataSource:
    """The data source by which VMs find what was uploaded."""
    origin = DataSourceSource(pvc=DataVolumeSourcePVC(name=wanted.name, namespace=namespace))
    labels, annotations = describe_defaults(wanted)
    metadata = ObjectMeta(name=wanted.name, namespace=namespace, labels=labels or None, annotations=annotations or None)
    return DataSource(api_version=_CDI, kind="DataSource", metadata=metadata, spec=DataSourceSpec(source=origin))


def describe_defaults(wanted: Wanted) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations that name what goes with the image."""
    labels, annotations = {}, {}
    for role, (name, kind) in wanted.defaults.items():
        for keys, text in ((NAME_KEYS[role], name), (KIND_KEYS[role], kind)):
            if text:
                labels[keys.label] = annotations[keys.annotation] = text
    return labels, annotations


def _describe(wanted: Wanted, namespace: str, own: dict[str, str]) -> ObjectMeta:
    labels, annotations = describe_defaults(wanted)
    annotations |= own
    if wanted.binds_now:
        annotations[BIND_NOW] = ""
    return ObjectMeta(name=wanted.name, namespace=namespace, labels=labels or None, annotations=annotations or None)


def _storage(wanted: Wanted) -> dict[str, object]:
    tree: dict[str, object] = {"resources": {"requests": {"storage": wanted.size}}} if wanted.size else {}
    if wanted.storage_class:
        tree["storageClassName"] = wanted.storage_class
    if wanted.volume_mode:
        tree["volumeMode"] = _MODES[wanted.volume_mode]
    return tree
