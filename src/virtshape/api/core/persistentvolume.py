"""Structs for persistent volumes."""

from msgspec import field

from virtshape.api.core.drivervolume import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from virtshape.api.core.reference import ObjectReference, SecretReference
from virtshape.api.core.scheduling import NodeSelector
from virtshape.api.core.volumesource import HostPathVolumeSource, NFSVolumeSource
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class VolumeNodeAffinity(Model):
    """The nodes that can access a volume."""

    required: NodeSelector | None = None
    """Properties that a node must have to access the volume."""


class CSIPersistentVolumeSource(Model):
    """A volume from a CSI driver."""

    driver: str
    """Name of the driver."""
    volume_handle: str
    """Identifier of the volume in the driver."""
    controller_expand_secret_ref: SecretReference | None = None
    """The secret for expanding the volume."""
    controller_publish_secret_ref: SecretReference | None = None
    """The secret for attaching the volume."""
    fs_type: str | None = None
    """The file system on the volume."""
    node_expand_secret_ref: SecretReference | None = None
    """The secret for expanding the volume on the node."""
    node_publish_secret_ref: SecretReference | None = None
    """The secret for mounting the volume into a pod."""
    node_stage_secret_ref: SecretReference | None = None
    """The secret for mounting the volume on the node."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    volume_attributes: dict[str, str] | None = None
    """Parameters for the driver."""


class LocalVolumeSource(Model):
    """A disk or directory on one node."""

    path: str
    """Path of the disk or directory on the node."""
    fs_type: str | None = None
    """File system type; detected if absent."""


class AzureFilePersistentVolumeSource(Model):
    """An Azure file share."""

    secret_name: str
    """The secret with the account and its key."""
    share_name: str
    """Name of the share."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_namespace: str | None = None
    """The secret's namespace; the claim's namespace if absent."""


class CephFSPersistentVolumeSource(Model):
    """A Ceph file system."""

    monitors: list[str]
    """Addresses of the Ceph monitors."""
    path: str | None = None
    """The directory to mount; the root if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_file: str | None = None
    """The file with the user's key."""
    secret_ref: SecretReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """Name of the Ceph user."""


class CinderPersistentVolumeSource(Model):
    """An OpenStack Cinder volume."""

    volume_id: str = field(name="volumeID")
    """ID of the disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: SecretReference | None = None
    """The secret with the OpenStack credentials."""


class FlexPersistentVolumeSource(Model):
    """A volume from a Flex driver."""

    driver: str
    """Name of the driver."""
    fs_type: str | None = None
    """The file system on the volume."""
    options: dict[str, str] | None = None
    """Parameters for the driver."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: SecretReference | None = None
    """The secret that the driver needs."""


class GlusterfsPersistentVolumeSource(Model):
    """A Gluster volume."""

    endpoints: str
    """Name of the Endpoints object with the servers."""
    path: str
    """Name of the Gluster volume."""
    endpoints_namespace: str | None = None
    """The namespace of the endpoints object; the claim's namespace if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class ISCSIPersistentVolumeSource(Model):
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
    secret_ref: SecretReference | None = None
    """The secret with the passwords."""


class RBDPersistentVolumeSource(Model):
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
    secret_ref: SecretReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """Name of the Ceph user; `admin` if absent."""


class ScaleIOPersistentVolumeSource(Model):
    """A ScaleIO volume."""

    gateway: str
    """Address of the ScaleIO API gateway."""
    secret_ref: SecretReference
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


class StorageOSPersistentVolumeSource(Model):
    """A StorageOS volume."""

    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: ObjectReference | None = None
    """The secret with the API credentials."""
    volume_name: str | None = None
    """Name of the volume."""
    volume_namespace: str | None = None
    """The namespace of the volume; the namespace of the claim if absent."""


class PersistentVolumeSpec(Model):
    """Desired state of a volume; exactly one source must be set."""

    access_modes: list[str] | None = None
    """Access modes of the volume."""
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    """An AWS EBS volume."""
    azure_disk: AzureDiskVolumeSource | None = None
    """An Azure disk."""
    azure_file: AzureFilePersistentVolumeSource | None = None
    """An Azure file share."""
    capacity: dict[str, Quantity] | None = None
    """Size of the volume."""
    cephfs: CephFSPersistentVolumeSource | None = None
    """A Ceph file system."""
    cinder: CinderPersistentVolumeSource | None = None
    """An OpenStack Cinder volume."""
    claim_ref: ObjectReference | None = None
    """The claim that the volume is bound to."""
    csi: CSIPersistentVolumeSource | None = None
    """A volume from a CSI driver."""
    fc: FCVolumeSource | None = None
    """A Fibre Channel disk."""
    flex_volume: FlexPersistentVolumeSource | None = None
    """A volume from a Flex driver."""
    flocker: FlockerVolumeSource | None = None
    """A Flocker dataset."""
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    """A Google Cloud persistent disk."""
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    """A Gluster volume."""
    host_path: HostPathVolumeSource | None = None
    """A file or directory on the node."""
    iscsi: ISCSIPersistentVolumeSource | None = None
    """An iSCSI disk."""
    local: LocalVolumeSource | None = None
    """A disk or directory on one node."""
    mount_options: list[str] | None = None
    """Mount options of the volume."""
    nfs: NFSVolumeSource | None = None
    """An NFS share."""
    node_affinity: VolumeNodeAffinity | None = None
    """The nodes that can access the volume."""
    persistent_volume_reclaim_policy: str | None = None
    """What happens to the volume when its claim is deleted: `Retain`, `Delete` or `Recycle`."""
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    """A Photon persistent disk."""
    portworx_volume: PortworxVolumeSource | None = None
    """A Portworx volume."""
    quobyte: QuobyteVolumeSource | None = None
    """A Quobyte volume."""
    rbd: RBDPersistentVolumeSource | None = None
    """A Ceph block device."""
    scale_io: ScaleIOPersistentVolumeSource | None = field(default=None, name="scaleIO")
    """A ScaleIO volume."""
    storage_class_name: str | None = None
    """The storage class of the volume."""
    storageos: StorageOSPersistentVolumeSource | None = None
    """A StorageOS volume."""
    volume_attributes_class_name: str | None = None
    """The attributes class of the volume."""
    volume_mode: str | None = None
    """Whether the volume is a raw device (`Block`) or has a file system (`Filesystem`)."""
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    """A vSphere disk."""


class PersistentVolumeStatus(Model):
    """Observed state of a volume."""

    last_phase_transition_time: Time | None = None
    """When the phase last changed."""
    message: str | None = None
    """Human-readable details of the current state."""
    phase: str | None = None
    """Phase of the volume: `Pending`, `Available`, `Bound`, `Released` or `Failed`."""
    reason: str | None = None
    """Reason for the current state, in CamelCase."""


class PersistentVolume(KubernetesObject, kw_only=True):
    """A volume that is independent of the lifetime of pods."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """The kind of this object: `PersistentVolume`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: PersistentVolumeSpec | None = None
    """Desired state of the volume."""
    status: PersistentVolumeStatus | None = None
    """Observed state of the volume."""
