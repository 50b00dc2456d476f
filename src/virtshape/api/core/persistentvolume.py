"""
Persistent volumes: pieces of storage that outlive pods.

Only structs: nothing here makes or binds a volume.
"""

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
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import Int32, Model, Time
from virtshape.api.quantity import Quantity


class VolumeNodeAffinity(Model):
    """The nodes that can reach a volume."""

    required: NodeSelector | None = None
    """What such a node must be."""


class CSIPersistentVolumeSource(Model):
    """A volume of a CSI driver."""

    driver: str
    """The driver."""
    volume_handle: str
    """What the driver calls it."""
    controller_expand_secret_ref: SecretReference | None = None
    """The secret for growing it."""
    controller_publish_secret_ref: SecretReference | None = None
    """The secret for attaching it."""
    fs_type: str | None = None
    """The file system on the volume."""
    node_expand_secret_ref: SecretReference | None = None
    """The secret for growing it on the node."""
    node_publish_secret_ref: SecretReference | None = None
    """The secret for mounting it into a pod."""
    node_stage_secret_ref: SecretReference | None = None
    """The secret for mounting it on the node."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    volume_attributes: dict[str, str] | None = None
    """What the driver should know."""


class LocalVolumeSource(Model):
    """A disk or directory of one node."""

    path: str
    """Its path on the node."""
    fs_type: str | None = None
    """The file system to put on a disk; found out if absent."""


class AzureFilePersistentVolumeSource(Model):
    """A file share of Azure."""

    secret_name: str
    """The secret with the account and its key."""
    share_name: str
    """The share."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_namespace: str | None = None
    """The secret's namespace; the claim's if absent."""


class CephFSPersistentVolumeSource(Model):
    """A Ceph file system."""

    monitors: list[str]
    """The monitors' addresses."""
    path: str | None = None
    """The directory to mount; the root if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_file: str | None = None
    """The file with the user's key."""
    secret_ref: SecretReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """The user."""


class CinderPersistentVolumeSource(Model):
    """A disk of OpenStack."""

    volume_id: str = field(name="volumeID")
    """The disk."""
    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: SecretReference | None = None
    """The secret that reaches OpenStack."""


class FlexPersistentVolumeSource(Model):
    """What a Flex driver provides."""

    driver: str
    """The driver."""
    fs_type: str | None = None
    """The file system on the volume."""
    options: dict[str, str] | None = None
    """What the driver should know."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: SecretReference | None = None
    """The secret that the driver needs."""


class GlusterfsPersistentVolumeSource(Model):
    """A Gluster volume."""

    endpoints: str
    """The endpoints object with the servers."""
    path: str
    """The volume's name."""
    endpoints_namespace: str | None = None
    """The namespace of that object; the claim's if absent."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class ISCSIPersistentVolumeSource(Model):
    """An iSCSI disk."""

    iqn: str
    """The target's name."""
    lun: Int32
    """Its number at the target."""
    target_portal: str
    """The target's address."""
    chap_auth_discovery: bool | None = None
    """Whether discovery asks for a password."""
    chap_auth_session: bool | None = None
    """Whether a session asks for a password."""
    fs_type: str | None = None
    """The file system on the volume."""
    initiator_name: str | None = None
    """The initiator's name, if not the node's."""
    iscsi_interface: str | None = None
    """The interface to use; `default` if absent."""
    portals: list[str] | None = None
    """Further addresses of the target."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: SecretReference | None = None
    """The secret with the passwords."""


class RBDPersistentVolumeSource(Model):
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
    secret_ref: SecretReference | None = None
    """The secret with the user's key."""
    user: str | None = None
    """The user; `admin` if absent."""


class ScaleIOPersistentVolumeSource(Model):
    """A ScaleIO volume."""

    gateway: str
    """The gateway's address."""
    secret_ref: SecretReference
    """The secret with user and password."""
    system: str
    """The storage system."""
    fs_type: str | None = None
    """The file system on the volume."""
    protection_domain: str | None = None
    """The protection domain."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    ssl_enabled: bool | None = None
    """Whether the gateway is spoken to over TLS."""
    storage_mode: str | None = None
    """`ThickProvisioned` or `ThinProvisioned`."""
    storage_pool: str | None = None
    """The pool."""
    volume_name: str | None = None
    """The volume."""


class StorageOSPersistentVolumeSource(Model):
    """A StorageOS volume."""

    fs_type: str | None = None
    """The file system on the volume."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    secret_ref: ObjectReference | None = None
    """The secret that reaches its API."""
    volume_name: str | None = None
    """The volume."""
    volume_namespace: str | None = None
    """The namespace of the volume, if not the claim's."""


class PersistentVolumeSpec(Model):
    """A piece of storage, in exactly one place."""

    access_modes: list[str] | None = None
    """How many nodes may mount it, and whether to write."""
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    """A disk of AWS."""
    azure_disk: AzureDiskVolumeSource | None = None
    """A disk of Azure."""
    azure_file: AzureFilePersistentVolumeSource | None = None
    """A file share of Azure."""
    capacity: dict[str, Quantity] | None = None
    """Its size."""
    cephfs: CephFSPersistentVolumeSource | None = None
    """A Ceph file system."""
    cinder: CinderPersistentVolumeSource | None = None
    """A disk of OpenStack."""
    claim_ref: ObjectReference | None = None
    """The claim that it is bound to."""
    csi: CSIPersistentVolumeSource | None = None
    """A volume of a CSI driver."""
    fc: FCVolumeSource | None = None
    """A Fibre Channel disk."""
    flex_volume: FlexPersistentVolumeSource | None = None
    """What a Flex driver provides."""
    flocker: FlockerVolumeSource | None = None
    """A Flocker dataset."""
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    """A disk of Google Cloud."""
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    """A Gluster volume."""
    host_path: HostPathVolumeSource | None = None
    """A file or directory of the node."""
    iscsi: ISCSIPersistentVolumeSource | None = None
    """An iSCSI disk."""
    local: LocalVolumeSource | None = None
    """A disk or directory of one node."""
    mount_options: list[str] | None = None
    """The options that it is mounted with."""
    nfs: NFSVolumeSource | None = None
    """An NFS share."""
    node_affinity: VolumeNodeAffinity | None = None
    """The nodes that can reach it."""
    persistent_volume_reclaim_policy: str | None = None
    """What becomes of it when its claim is gone: `Retain`, `Delete` or `Recycle`."""
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    """A disk of Photon."""
    portworx_volume: PortworxVolumeSource | None = None
    """A Portworx volume."""
    quobyte: QuobyteVolumeSource | None = None
    """A Quobyte volume."""
    rbd: RBDPersistentVolumeSource | None = None
    """A Ceph block device."""
    scale_io: ScaleIOPersistentVolumeSource | None = field(default=None, name="scaleIO")
    """A ScaleIO volume."""
    storage_class_name: str | None = None
    """The storage class that it belongs to."""
    storageos: StorageOSPersistentVolumeSource | None = None
    """A StorageOS volume."""
    volume_attributes_class_name: str | None = None
    """The attributes class that it has."""
    volume_mode: str | None = None
    """Whether it is a raw device (`Block`) or carries a file system (`Filesystem`)."""
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    """A disk of vSphere."""


class PersistentVolumeStatus(Model):
    """The life of a volume."""

    last_phase_transition_time: Time | None = None
    """When its phase last changed."""
    message: str | None = None
    """Why it is so, for people."""
    phase: str | None = None
    """`Pending`, `Available`, `Bound`, `Released` or `Failed`."""
    reason: str | None = None
    """Why it is so, as one word."""


class PersistentVolume(Model, kw_only=True):
    """A piece of storage that outlives pods."""

    api_version: str
    """The version of this object: `v1`."""
    kind: str
    """`PersistentVolume`."""
    metadata: ObjectMeta | None = None
    """The object's name, labels and the like."""
    spec: PersistentVolumeSpec | None = None
    """The volume, as wanted."""
    status: PersistentVolumeStatus | None = None
    """The volume, as observed."""
