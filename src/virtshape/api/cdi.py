"""Structs of cdi.kubevirt.io/v1beta1: DataVolumes, DataSources and uploads."""

from typing import Literal

from msgspec import field

from virtshape.api.core.claimspec import (
    PersistentVolumeClaimSpec,
    TypedLocalObjectReference,
    TypedObjectReference,
    VolumeResourceRequirements,
)
from virtshape.api.meta import NO_METADATA, KubernetesObject, LabelSelector, Metadata
from virtshape.api.model import Int32, Model, Time

Content = Literal["kubevirt", "archive"]
"""Content of a volume: a disk image, or the files in an archive."""


class DataVolumeCheckpoint(Model):
    """One step in a multi-stage import."""

    current: str
    """The snapshot that this step copies."""
    previous: str
    """The snapshot of the previous step; empty for the first step."""


class DataVolumeBlankImage(Model):
    """An empty disk."""


class DataVolumeSourceGCS(Model):
    """An image in Google Cloud Storage."""

    url: str
    """URL of the image."""
    secret_ref: str | None = None
    """The secret with the credentials."""


class DataVolumeSourceHTTP(Model):
    """An image at an HTTP URL."""

    url: str
    """The `http` or `https` address of the image."""
    cert_config_map: str | None = None
    """The config map with the certificate authorities to trust."""
    checksum: str | None = None
    """Expected checksum of the file: `md5`, `sha1`, `sha256` or `sha512`, a colon and hexadecimal digits."""
    extra_headers: list[str] | None = None
    """Headers to send with each request."""
    secret_extra_headers: list[str] | None = None
    """Secrets whose values are sent as headers."""
    secret_ref: str | None = None
    """The secret with the user name (`accessKeyId`) and the password (`secretKey`)."""


class DataVolumeSourceImageIO(Model):
    """A disk on an oVirt server."""

    disk_id: str
    """The identifier of the disk on the server."""
    url: str
    """The address of the server."""
    cert_config_map: str | None = None
    """The config map with the certificate authorities to trust."""
    insecure_skip_verify: bool | None = None
    """Whether the server's certificate is accepted without verification."""
    secret_ref: str | None = None
    """The secret with the user name (`accessKeyId`) and the password (`secretKey`)."""


class DataVolumeSourcePVC(Model):
    """A claim to clone."""

    name: str
    """The name of the claim."""
    namespace: str
    """The namespace of the claim."""


class PlatformOptions(Model):
    """The platform to select in a multi-platform image."""

    architecture: str | None = None
    """CPU architecture of the image."""


class DataVolumeSourceRegistry(Model):
    """A disk image inside a container image."""

    cert_config_map: str | None = None
    """The config map with the certificate authorities to trust."""
    image_stream: str | None = None
    """Image stream with the image; mutually exclusive with `url`."""
    platform: PlatformOptions | None = None
    """Platform of a multi-platform image."""
    pull_method: str | None = None
    """How the image is pulled: by the importer (`pod`) or by the container runtime (`node`)."""
    secret_ref: str | None = None
    """The secret with the user name (`accessKeyId`) and the password (`secretKey`)."""
    url: str | None = None
    """URL of the image, starting with `docker://` or `oci-archive://`."""


class DataVolumeSourceS3(Model):
    """An image in S3-compatible storage."""

    url: str
    """The address of the image."""
    cert_config_map: str | None = None
    """The config map with the certificate authorities to trust."""
    secret_ref: str | None = None
    """The secret with the access key (`accessKeyId`) and its secret (`secretKey`)."""


class DataVolumeSourceSnapshot(Model):
    """A volume snapshot whose content is restored."""

    name: str
    """The name of the snapshot."""
    namespace: str
    """The namespace of the snapshot."""


class DataVolumeSourceUpload(Model):
    """Data that a client uploads."""


class DataVolumeSourceVDDK(Model):
    """A disk on a VMware server."""

    backing_file: str | None = None
    """The disk's file on the server."""
    extra_args: str | None = None
    """The config map with additional arguments for the transfer."""
    init_image_url: str | None = field(default=None, name="initImageURL")
    """The container image with VMware's transfer library (VDDK)."""
    secret_ref: str | None = None
    """The secret with the user name (`accessKeyId`) and the password (`secretKey`)."""
    thumbprint: str | None = None
    """The fingerprint of the server's certificate."""
    url: str | None = None
    """The address of the server."""
    uuid: str | None = None
    """The UUID of the VM that the disk belongs to."""


class DataVolumeSource(Model):
    """Where a volume's data comes from; exactly one field must be set."""

    blank: DataVolumeBlankImage | None = None
    """No data: the disk is empty."""
    gcs: DataVolumeSourceGCS | None = None
    """An image in Google Cloud Storage."""
    http: DataVolumeSourceHTTP | None = None
    """An image at an HTTP URL."""
    imageio: DataVolumeSourceImageIO | None = None
    """A disk on an oVirt server."""
    pvc: DataVolumeSourcePVC | None = None
    """Another claim, which is cloned."""
    registry: DataVolumeSourceRegistry | None = None
    """A disk image inside a container image."""
    s3: DataVolumeSourceS3 | None = None
    """An image in S3-compatible storage."""
    snapshot: DataVolumeSourceSnapshot | None = None
    """A volume snapshot."""
    upload: DataVolumeSourceUpload | None = None
    """An upload by a client."""
    vddk: DataVolumeSourceVDDK | None = None
    """A disk on a VMware server."""


class DataVolumeSourceRef(Model):
    """A reference to an object that defines the source of the data."""

    name: str
    """The name of the object."""
    kind: str
    """The kind of the object: `DataSource`."""
    namespace: str | None = None
    """The namespace of the object; the namespace of the data volume if absent."""


class StorageSpec(Model):
    """The claim to create; unset fields are taken from the profile of the storage class."""

    access_modes: list[Literal["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"]] | None = None
    """Access modes of the volume."""
    data_source: TypedLocalObjectReference | None = None
    """Object in the same namespace to populate the volume from."""
    data_source_ref: TypedObjectReference | None = None
    """Object to populate the volume from; if it is in another namespace, that namespace must permit the reference."""
    resources: VolumeResourceRequirements | None = None
    """The size of the volume."""
    selector: LabelSelector | None = None
    """The labels that an existing volume must have to be bound."""
    storage_class_name: str | None = None
    """The storage class; the cluster's default if absent."""
    volume_mode: Literal["Block", "Filesystem", "FromStorageProfile"] | None = None
    """Whether the volume is a raw device or has a file system."""
    volume_name: str | None = None
    """An existing volume to bind to."""


class DataVolumeSpec(Model):
    """A volume and the data to populate it with."""

    checkpoints: list[DataVolumeCheckpoint] | None = None
    """The steps of a multi-stage import."""
    content_type: str | None = None
    """Type of the data: `kubevirt` for a disk image (default) or `archive` for an archive of files."""
    final_checkpoint: bool | None = None
    """Whether the last checkpoint completes the import."""
    preallocation: bool | None = None
    """Whether the full size of the disk is allocated before the disk is used."""
    priority_class_name: str | None = None
    """The priority class of the pods that populate the volume."""
    pvc: PersistentVolumeClaimSpec | None = None
    """The claim to create, exactly as given; mutually exclusive with `storage`."""
    source: DataVolumeSource | None = None
    """Where the data comes from; mutually exclusive with `sourceRef`."""
    source_ref: DataVolumeSourceRef | None = None
    """An object that defines the source of the data; mutually exclusive with `source`."""
    storage: StorageSpec | None = None
    """The claim to create, completed from the profile of the storage class; mutually exclusive with `pvc`."""


class DataVolumeCondition(Model):
    """A condition of a data volume."""

    type: str
    """Type of the condition: `Ready`, `Bound` or `Running`."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_heartbeat_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class DataVolumeStatus(Model):
    """Observed state of a data volume."""

    claim_name: str | None = None
    """The claim that holds the data."""
    conditions: list[DataVolumeCondition] | None = None
    """Current conditions of the data volume."""
    phase: str | None = None
    """Phase of the data volume, such as `ImportInProgress` or `Succeeded`."""
    progress: str | None = None
    """Progress as a percentage, or `N/A`."""
    restart_count: Int32 | None = None
    """Number of restarts of the pod that populates the volume."""


class DataVolume(KubernetesObject, kw_only=True):
    """A claim and the data to populate it with."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `DataVolume`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: DataVolumeSpec
    """Desired state of the data volume."""
    status: DataVolumeStatus | None = None
    """Observed state of the data volume."""


class DataSourceRefSourceDataSource(Model):
    """A reference to another data source."""

    name: str
    """The name of the referenced data source."""
    namespace: str
    """The namespace of the referenced data source."""


class DataSourceSource(Model):
    """Where the data of a data source is stored; exactly one field must be set."""

    data_source: DataSourceRefSourceDataSource | None = None
    """Another data source, which refers to the data."""
    pvc: DataVolumeSourcePVC | None = None
    """A claim that stores the data."""
    snapshot: DataVolumeSourceSnapshot | None = None
    """A volume snapshot that stores the data."""


class DataSourceSpec(Model):
    """Desired state of a data source."""

    source: DataSourceSource
    """Where the data is stored."""


class DataSourceCondition(Model):
    """A condition of a data source."""

    type: str
    """Type of the condition: `Ready`."""
    status: str
    """Status of the condition: `True`, `False` or `Unknown`."""
    last_heartbeat_time: Time | None = None
    """When the condition was last checked."""
    last_transition_time: Time | None = None
    """When the status last changed."""
    message: str | None = None
    """Human-readable details of the condition."""
    reason: str | None = None
    """Reason for the status, in CamelCase."""


class DataSourceStatus(Model):
    """Observed state of a data source."""

    conditions: list[DataSourceCondition] | None = None
    """Current conditions of the data source."""
    source: DataSourceSource | None = None
    """Where the data is stored, after following other data sources."""


class DataSource(KubernetesObject, kw_only=True):
    """A stable reference to data that volumes can be populated from."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `DataSource`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: DataSourceSpec
    """Desired state of the data source."""
    status: DataSourceStatus | None = None
    """Observed state of the data source."""


class UploadTokenRequestSpec(Model):
    """The claim that a token is requested for."""

    pvc_name: str
    """The claim to upload to."""


class UploadTokenRequestStatus(Model):
    """The issued token."""

    token: str | None = None
    """The upload token, which the client sends to the upload server."""


class UploadTokenRequest(KubernetesObject, kw_only=True):
    """A request for an upload token, in the group upload.cdi.kubevirt.io; never stored."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `UploadTokenRequest`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: UploadTokenRequestSpec
    """The claim that the token is for."""
    status: UploadTokenRequestStatus | None = None
    """The issued token."""


class CDIConfigSpec(Model):
    """Settings for uploads."""

    upload_proxy_url_override: str | None = field(default=None, name="uploadProxyURLOverride")
    """Upload address for clients; overrides the detected address."""


class CDIConfigStatus(Model):
    """Upload address and certificate authority for clients."""

    upload_proxy_url: str | None = field(default=None, name="uploadProxyURL")
    """Upload address for clients."""
    upload_proxy_ca: str | None = field(default=None, name="uploadProxyCA")
    """Certificate authority of the upload server, as PEM."""


class CDIConfig(KubernetesObject, kw_only=True):
    """Configuration of uploads; clients read the object named `config`."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `CDIConfig`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: CDIConfigSpec
    """Settings that an administrator can change."""
    status: CDIConfigStatus | None = None
    """Settings that clients use."""
