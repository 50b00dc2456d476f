from typing import Literal

from virtshape.api.meta import LabelSelector
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class PersistentVolumeClaimVolumeSource(Model):
    claim_name: str
    read_only: bool | None = None


class TypedLocalObjectReference(Model):
    name: str
    kind: str
    api_group: str | None = None


class TypedObjectReference(Model):
    name: str
    kind: str
    api_group: str | None = None
    namespace: str | None = None


class VolumeResourceRequirements(Model):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None


class PersistentVolumeClaimSpec(Model):
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    volume_name: str | None = None
