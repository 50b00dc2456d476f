"""Structs for volumes in specific storage systems."""

from msgspec import field

from virtshape.api.core.podshared import LocalObjectReference
from virtshape.api.model import Int32, Model


class AWSElasticBlockStoreVolumeSource(Model):
    """An AWS EBS volume."""

    volume_id: str = field(name="volumeID")
    """ID of the disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    partition: Int32 | None = None
    """The partition; the whole disk if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class AzureDiskVolumeSource(Model):
    """An Azure disk."""

    disk_name: str
    """Name of the disk in Azure."""
    disk_uri: str = field(name="diskURI")
    """URI of the disk in Azure."""
    caching_mode: str | None = None
    """How the host caches the disk: `None`, `ReadOnly` or `ReadWrite`."""
    fs_type: str | None = None
    """The file system on the volume."""
    kind: str | None = None
    """Kind of the disk: `Shared`, `Dedicated` or `Managed`."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class AzureFileVolumeSource(Model):
    """An Azure file share."""

    secret_name: str
    """The secret with the account and its key."""
    share_name: str
    """Name of the share."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class CephFSVolumeSource(Model):
    """A Ceph file system."""

    monitors: list[str]
    """Addresses of the Ceph monitors."""
    path: str | None = None
    """The directory to mount; the root if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_file: str | None = None
    """The file with the user's key."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """Name of the Ceph user."""


class CinderVolumeSource(Model):
    """An OpenStack Cinder volume."""

    volume_id: str = field(name="volumeID")
    """ID of the disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the OpenStack credentials."""


class FCVolumeSource(Model):
    """A Fibre Channel disk."""

    fs_type: str | None = None
    """The file system on the volume."""
    lun: Int32 | None = None
    """LUN number on the target."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    target_wwns: list[str] | None = field(default=None, name="targetWWNs")
    """World wide names of the targets."""
    wwids: list[str] | None = None
    """World wide identifiers, instead of target names and a LUN."""


class FlexVolumeSource(Model):
    """A volume from a Flex driver."""

    driver: str
    """Name of the driver."""
    fs_type: str | None = None
    """The file system on the volume."""
    options: dict[str, str] | None = None
    """Parameters for the driver."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret that the driver needs."""


class FlockerVolumeSource(Model):
    """A Flocker dataset."""

    dataset_name: str | None = None
    """Deprecated name of the dataset; use the UUID."""
    dataset_uuid: str | None = field(default=None, name="datasetUUID")
    """UUID of the dataset."""


class GCEPersistentDiskVolumeSource(Model):
    """A Google Cloud persistent disk."""

    pd_name: str
    """Name of the disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    partition: Int32 | None = None
    """The partition; the whole disk if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class GitRepoVolumeSource(Model):
    """A Git repository; no longer supported."""

    repository: str
    """URL of the repository."""
    directory: str | None = None
    """The directory to clone the repository into."""
    revision: str | None = None
    """The commit to check out."""


class GlusterfsVolumeSource(Model):
    """A Gluster volume."""

    endpoints: str
    """Name of the Endpoints object with the servers."""
    path: str
    """Name of the Gluster volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class ISCSIVolumeSource(Model):
    """An iSCSI disk."""

    iqn: str
    """Qualified name (IQN) of the target."""
    lun: Int32
    """LUN number on the target."""
    target_portal: str
    """IP address of the target, with the port if it is not the default."""
    chap_auth_discovery: bool | None = None
    """Whether discovery uses CHAP authentication."""
    chap_auth_session: bool | None = None
    """Whether sessions use CHAP authentication."""
    fs_type: str | None = None
    """The file system on the volume."""
    initiator_name: str | None = None
    """The initiator's name; the initiator name of the node if absent."""
    iscsi_interface: str | None = None
    """The interface to use; `default` if absent."""
    portals: list[str] | None = None
    """Additional addresses of the target."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the passwords."""


class PhotonPersistentDiskVolumeSource(Model):
    """A Photon persistent disk."""

    pd_id: str = field(name="pdID")
    """ID of the disk."""
    fs_type: str | None = None
    """The file system on the volume."""


class PortworxVolumeSource(Model):
    """A Portworx volume."""

    volume_id: str = field(name="volumeID")
    """ID of the volume."""
    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class QuobyteVolumeSource(Model):
    """A Quobyte volume."""

    registry: str
    """Addresses of the Quobyte registries, as host:port."""
    volume: str
    """Name of the volume."""
    group: str | None = None
    """The group that accesses the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    tenant: str | None = None
    """Name of the tenant that owns the volume."""
    user: str | None = None
    """The user that accesses the volume."""


class RBDVolumeSource(Model):
    """A Ceph block device."""

    image: str
    """Name of the device's image."""
    monitors: list[str]
    """Addresses of the Ceph monitors."""
    fs_type: str | None = None
    """The file system on the volume."""
    keyring: str | None = None
    """The file with the user's key."""
    pool: str | None = None
    """Name of the pool; `rbd` if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """Name of the Ceph user; `admin` if absent."""


class ScaleIOVolumeSource(Model):
    """A ScaleIO volume."""

    gateway: str
    """Address of the ScaleIO API gateway."""
    secret_ref: LocalObjectReference
    """The secret with the user name and password."""
    system: str
    """Name of the storage system."""
    fs_type: str | None = None
    """The file system on the volume."""
    protection_domain: str | None = None
    """Name of the protection domain."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    ssl_enabled: bool | None = None
    """Whether the connection to the gateway uses TLS."""
    storage_mode: str | None = None
    """Provisioning of the volume: `ThickProvisioned` or `ThinProvisioned`."""
    storage_pool: str | None = None
    """Name of the storage pool."""
    volume_name: str | None = None
    """Name of the volume."""


class StorageOSVolumeSource(Model):
    """A StorageOS volume."""

    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the API credentials."""
    volume_name: str | None = None
    """Name of the volume."""
    volume_namespace: str | None = None
    """The namespace of the volume; the namespace of the pod if absent."""


class VsphereVirtualDiskVolumeSource(Model):
    """A vSphere disk."""

    volume_path: str
    """Path of the disk in vSphere."""
    fs_type: str | None = None
    """The file system on the volume."""
    storage_policy_id: str | None = field(default=None, name="storagePolicyID")
    """The storage policy's identifier."""
    storage_policy_name: str | None = None
    """The storage policy's name."""
