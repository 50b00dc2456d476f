"""Structs of volumes in specific storage systems."""

from msgspec import field

from virtshape.api.core.pod import LocalObjectReference
from virtshape.api.model import Int32, Model


class AWSElasticBlockStoreVolumeSource(Model):
    """An AWS EBS volume."""

    volume_id: str = field(name="volumeID")
    """The disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    partition: Int32 | None = None
    """The partition; the whole disk if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class AzureDiskVolumeSource(Model):
    """An Azure disk."""

    disk_name: str
    """The disk's name."""
    disk_uri: str = field(name="diskURI")
    """The disk's address."""
    caching_mode: str | None = None
    """How the host caches the disk: `None`, `ReadOnly` or `ReadWrite`."""
    fs_type: str | None = None
    """The file system on the volume."""
    kind: str | None = None
    """`Shared`, `Dedicated` or `Managed`."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class AzureFileVolumeSource(Model):
    """An Azure file share."""

    secret_name: str
    """The secret with the account and its key."""
    share_name: str
    """The share."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class CephFSVolumeSource(Model):
    """A Ceph file system."""

    monitors: list[str]
    """The monitors' addresses."""
    path: str | None = None
    """The directory to mount; the root if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_file: str | None = None
    """The file with the user's key."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """The user."""


class CinderVolumeSource(Model):
    """An OpenStack Cinder volume."""

    volume_id: str = field(name="volumeID")
    """The disk."""
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
    """LUN number."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    target_wwns: list[str] | None = field(default=None, name="targetWWNs")
    """The targets' names."""
    wwids: list[str] | None = None
    """World wide identifiers, instead of target names and a LUN."""


class FlexVolumeSource(Model):
    """A volume of a Flex driver."""

    driver: str
    """The driver."""
    fs_type: str | None = None
    """The file system on the volume."""
    options: dict[str, str] | None = None
    """Parameters of the driver."""
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
    """The disk."""
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
    """The commit."""


class GlusterfsVolumeSource(Model):
    """A Gluster volume."""

    endpoints: str
    """The endpoints object with the servers."""
    path: str
    """The volume's name."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class ISCSIVolumeSource(Model):
    """An iSCSI disk."""

    iqn: str
    """The target's name."""
    lun: Int32
    """LUN number."""
    target_portal: str
    """The target's address."""
    chap_auth_discovery: bool | None = None
    """Whether discovery uses CHAP authentication."""
    chap_auth_session: bool | None = None
    """Whether sessions use CHAP authentication."""
    fs_type: str | None = None
    """The file system on the volume."""
    initiator_name: str | None = None
    """The initiator's name, if not the node's."""
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
    """The disk."""
    fs_type: str | None = None
    """The file system on the volume."""


class PortworxVolumeSource(Model):
    """A Portworx volume."""

    volume_id: str = field(name="volumeID")
    """The volume."""
    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class QuobyteVolumeSource(Model):
    """A Quobyte volume."""

    registry: str
    """The registries' addresses."""
    volume: str
    """The volume."""
    group: str | None = None
    """The group that accesses the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    tenant: str | None = None
    """The tenant that owns the volume."""
    user: str | None = None
    """The user that accesses the volume."""


class RBDVolumeSource(Model):
    """A Ceph block device."""

    image: str
    """The device."""
    monitors: list[str]
    """The monitors' addresses."""
    fs_type: str | None = None
    """The file system on the volume."""
    keyring: str | None = None
    """The file with the user's key."""
    pool: str | None = None
    """The pool; `rbd` if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """The user; `admin` if absent."""


class ScaleIOVolumeSource(Model):
    """A ScaleIO volume."""

    gateway: str
    """The gateway's address."""
    secret_ref: LocalObjectReference
    """The secret with the user name and password."""
    system: str
    """The storage system."""
    fs_type: str | None = None
    """The file system on the volume."""
    protection_domain: str | None = None
    """The protection domain."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    ssl_enabled: bool | None = None
    """Whether the connection to the gateway uses TLS."""
    storage_mode: str | None = None
    """`ThickProvisioned` or `ThinProvisioned`."""
    storage_pool: str | None = None
    """The pool."""
    volume_name: str | None = None
    """The volume."""


class StorageOSVolumeSource(Model):
    """A StorageOS volume."""

    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: LocalObjectReference | None = None
    """The secret with the API credentials."""
    volume_name: str | None = None
    """The volume."""
    volume_namespace: str | None = None
    """The namespace of the volume, if not the pod's."""


class VsphereVirtualDiskVolumeSource(Model):
    """A vSphere disk."""

    volume_path: str
    """The disk's path."""
    fs_type: str | None = None
    """The file system on the volume."""
    storage_policy_id: str | None = field(default=None, name="storagePolicyID")
    """The storage policy's identifier."""
    storage_policy_name: str | None = None
    """The storage policy's name."""
