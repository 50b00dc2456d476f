from typing import Literal

from msgspec import field

from virtshape.api.core.volume import (
    PersistentVolumeClaimSpec,
    TypedLocalObjectReference,
    TypedObjectReference,
    VolumeResourceRequirements,
)
from virtshape.api.meta import LabelSelector
from virtshape.api.model import Model


class DataVolumeCheckpoint(Model):
    current: str
    previous: str


class DataVolumeBlankImage(Model):
    pass


class DataVolumeSourceGCS(Model):
    url: str
    secret_ref: str | None = None


class DataVolumeSourceHTTP(Model):
    url: str
    cert_config_map: str | None = None
    extra_headers: list[str] | None = None
    secret_extra_headers: list[str] | None = None
    secret_ref: str | None = None


class DataVolumeSourceImageIO(Model):
    disk_id: str
    url: str
    cert_config_map: str | None = None
    insecure_skip_verify: bool | None = None
    secret_ref: str | None = None


class DataVolumeSourcePVC(Model):
    name: str
    namespace: str


class PlatformOptions(Model):
    architecture: str | None = None


class DataVolumeSourceRegistry(Model):
    cert_config_map: str | None = None
    image_stream: str | None = None
    platform: PlatformOptions | None = None
    pull_method: str | None = None
    secret_ref: str | None = None
    url: str | None = None


class DataVolumeSourceS3(Model):
    url: str
    cert_config_map: str | None = None
    secret_ref: str | None = None


class DataVolumeSourceSnapshot(Model):
    name: str
    namespace: str


class DataVolumeSourceUpload(Model):
    pass


class DataVolumeSourceVDDK(Model):
    backing_file: str | None = None
    extra_args: str | None = None
    init_image_url: str | None = field(default=None, name="initImageURL")
    secret_ref: str | None = None
    thumbprint: str | None = None
    url: str | None = None
    uuid: str | None = None


class DataVolumeSource(Model):
    blank: DataVolumeBlankImage | None = None
    gcs: DataVolumeSourceGCS | None = None
    http: DataVolumeSourceHTTP | None = None
    imageio: DataVolumeSourceImageIO | None = None
    pvc: DataVolumeSourcePVC | None = None
    registry: DataVolumeSourceRegistry | None = None
    s3: DataVolumeSourceS3 | None = None
    snapshot: DataVolumeSourceSnapshot | None = None
    upload: DataVolumeSourceUpload | None = None
    vddk: DataVolumeSourceVDDK | None = None


class DataVolumeSourceRef(Model):
    name: str
    kind: str
    namespace: str | None = None


class StorageSpec(Model):
    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    data_source: TypedLocalObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    resources: VolumeResourceRequirements | None = None
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    volume_name: str | None = None


class DataVolumeSpec(Model):
    checkpoints: list[DataVolumeCheckpoint] | None = None
    content_type: str | None = None
    final_checkpoint: bool | None = None
    preallocation: bool | None = None
    priority_class_name: str | None = None
    pvc: PersistentVolumeClaimSpec | None = None
    source: DataVolumeSource | None = None
    source_ref: DataVolumeSourceRef | None = None
    storage: StorageSpec | None = None
