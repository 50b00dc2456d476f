"""Structs for pod volumes and their sources."""

from msgspec import field

from virtshape.api.core.claim import PersistentVolumeClaimTemplate
from virtshape.api.core.claimspec import PersistentVolumeClaimVolumeSource
from virtshape.api.core.drivervolume import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from virtshape.api.core.podshared import DownwardAPIVolumeFile, LocalObjectReference
from virtshape.api.meta import LabelSelector
from virtshape.api.model import Int32, Model
from virtshape.api.quantity import Quantity


class KeyToPath(Model):
    """A key, and the file that its value is written to."""

    key: str
    """Key in the data of the config map or secret."""
    path: str
    """The file's path in the volume."""
    mode: Int32 | None = None
    """Permission bits of the file."""
    user: int | None = None
    """User ID of the file's owner."""


class ConfigMapVolumeSource(Model):
    """A volume with the keys of a config map."""

    name: str | None = None
    """The config map's name."""
    default_mode: Int32 | None = None
    """Permission bits of files for which no mode is set; 0644 if absent."""
    default_user: int | None = None
    """User ID of the owner of files for which no owner is set."""
    items: list[KeyToPath] | None = None
    """The keys and their paths; all keys if absent."""
    optional: bool | None = None
    """Whether the config map or its keys may be missing."""


class SecretVolumeSource(Model):
    """A volume with the keys of a secret."""

    default_mode: Int32 | None = None
    """Permission bits of files for which no mode is set; 0644 if absent."""
    default_user: int | None = None
    """User ID of the owner of files for which no owner is set."""
    items: list[KeyToPath] | None = None
    """The keys and their paths; all keys if absent."""
    optional: bool | None = None
    """Whether the secret or its keys may be missing."""
    secret_name: str | None = None
    """Name of the secret."""


class DownwardAPIVolumeSource(Model):
    """A volume with fields of the pod."""

    default_mode: Int32 | None = None
    """Permission bits of files for which no mode is set; 0644 if absent."""
    default_user: int | None = None
    """User ID of the owner of files for which no owner is set."""
    items: list[DownwardAPIVolumeFile] | None = None
    """The fields and their paths."""


class EmptyDirVolumeSource(Model):
    """An empty directory that is deleted with the pod."""

    medium: str | None = None
    """Storage medium: the node's disk (empty) or `Memory`."""
    mode: Int32 | None = None
    """Permission bits of the directory; 0777 if absent."""
    size_limit: Quantity | None = None
    """Maximum size of the directory's content."""


class EphemeralVolumeSource(Model):
    """A claim that is created and deleted with the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None
    """Template for the claim."""


class HostPathVolumeSource(Model):
    """A file or directory on the node."""

    path: str
    """Path on the node."""
    type: str | None = None
    """Expected type, such as `Directory` or `FileOrCreate`."""


class ImageVolumeSource(Model):
    """The files of a container image."""

    pull_policy: str | None = None
    """Pull policy: `Always`, `IfNotPresent` or `Never`."""
    reference: str | None = None
    """Reference to the image, such as a name and a tag."""


class CSIVolumeSource(Model):
    """An ephemeral volume from a CSI driver."""

    driver: str
    """Name of the driver."""
    fs_type: str | None = None
    """The file system on the volume; the driver's choice if absent."""
    node_publish_secret_ref: LocalObjectReference | None = None
    """The secret that the driver needs."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""
    volume_attributes: dict[str, str] | None = None
    """Parameters for the driver."""


class NFSVolumeSource(Model):
    """An NFS share."""

    path: str
    """Path of the share on the server."""
    server: str
    """Host name or IP address of the server."""
    read_only: bool | None = None
    """Whether the volume is mounted read-only."""


class ConfigMapProjection(Model):
    """The keys of a config map."""

    name: str | None = None
    """The config map's name."""
    items: list[KeyToPath] | None = None
    """The keys and their paths; all keys if absent."""
    optional: bool | None = None
    """Whether the config map or its keys may be missing."""


class SecretProjection(Model):
    """The keys of a secret."""

    name: str | None = None
    """Name of the secret."""
    items: list[KeyToPath] | None = None
    """The keys and their paths; all keys if absent."""
    optional: bool | None = None
    """Whether the secret or its keys may be missing."""


class DownwardAPIProjection(Model):
    """Fields of the pod."""

    items: list[DownwardAPIVolumeFile] | None = None
    """The fields and their paths."""


class ServiceAccountTokenProjection(Model):
    """A token of the pod's service account."""

    path: str
    """The file's path in the volume."""
    audience: str | None = None
    """Intended audience of the token; the API server if absent."""
    expiration_seconds: int | None = None
    """Lifetime in seconds; one hour if absent."""
    user: int | None = None
    """User ID of the file's owner."""


class ClusterTrustBundleProjection(Model):
    """Certificate authorities of the cluster."""

    path: str
    """The file's path in the volume."""
    name: str | None = None
    """Name of a single bundle."""
    label_selector: LabelSelector | None = None
    """Selects bundles by label; used with `signerName`."""
    optional: bool | None = None
    """Whether the bundles may be missing."""
    signer_name: str | None = None
    """The signer of the bundles."""
    user: int | None = None
    """User ID of the file's owner."""


class PodCertificateProjection(Model):
    """A private key and a certificate for the pod."""

    key_type: str
    """The kind of key, such as `ED25519` or `ECDSAP256`."""
    signer_name: str
    """Name of the signer."""
    certificate_chain_path: str | None = None
    """The file with the certificates alone."""
    credential_bundle_path: str | None = None
    """The file with the key and its certificates."""
    key_path: str | None = None
    """The file with the key alone."""
    max_expiration_seconds: Int32 | None = None
    """Maximum lifetime of the certificate in seconds; one day if absent."""
    user: int | None = None
    """User ID of the files' owner."""
    user_annotations: dict[str, str] | None = None
    """Parameters for the signer."""


class VolumeProjection(Model):
    """A source of a projected volume; exactly one field must be set."""

    cluster_trust_bundle: ClusterTrustBundleProjection | None = None
    """Certificate authorities of the cluster."""
    config_map: ConfigMapProjection | None = None
    """The keys of a config map."""
    downward_api: DownwardAPIProjection | None = field(default=None, name="downwardAPI")
    """Fields of the pod."""
    pod_certificate: PodCertificateProjection | None = None
    """A private key and a certificate for the pod."""
    secret: SecretProjection | None = None
    """The keys of a secret."""
    service_account_token: ServiceAccountTokenProjection | None = None
    """A token of the pod's service account."""


class ProjectedVolumeSource(Model):
    """Several sources in one directory."""

    default_mode: Int32 | None = None
    """Permission bits of files for which no mode is set; 0644 if absent."""
    default_user: int | None = None
    """User ID of the owner of files for which no owner is set."""
    sources: list[VolumeProjection] | None = None
    """The sources whose files are combined."""


class Volume(Model):
    """A volume that a pod's containers can use; exactly one source must be set."""

    name: str
    """The volume's name in the pod."""
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    """An AWS EBS volume."""
    azure_disk: AzureDiskVolumeSource | None = None
    """An Azure disk."""
    azure_file: AzureFileVolumeSource | None = None
    """An Azure file share."""
    cephfs: CephFSVolumeSource | None = None
    """A Ceph file system."""
    cinder: CinderVolumeSource | None = None
    """An OpenStack Cinder volume."""
    config_map: ConfigMapVolumeSource | None = None
    """The keys of a config map."""
    csi: CSIVolumeSource | None = None
    """An ephemeral volume from a CSI driver."""
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name="downwardAPI")
    """Fields of the pod."""
    empty_dir: EmptyDirVolumeSource | None = None
    """An empty directory that is deleted with the pod."""
    ephemeral: EphemeralVolumeSource | None = None
    """A claim that is created and deleted with the pod."""
    fc: FCVolumeSource | None = None
    """A Fibre Channel disk."""
    flex_volume: FlexVolumeSource | None = None
    """A volume from a Flex driver."""
    flocker: FlockerVolumeSource | None = None
    """A Flocker dataset."""
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    """A Google Cloud persistent disk."""
    git_repo: GitRepoVolumeSource | None = None
    """A Git repository; no longer supported."""
    glusterfs: GlusterfsVolumeSource | None = None
    """A Gluster volume."""
    host_path: HostPathVolumeSource | None = None
    """A file or directory on the node."""
    image: ImageVolumeSource | None = None
    """The files of a container image."""
    iscsi: ISCSIVolumeSource | None = None
    """An iSCSI disk."""
    nfs: NFSVolumeSource | None = None
    """An NFS share."""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    """A claim in the same namespace."""
    photon_persistent_disk: PhotonPersistentDiskVolumeSource | None = None
    """A Photon persistent disk."""
    portworx_volume: PortworxVolumeSource | None = None
    """A Portworx volume."""
    projected: ProjectedVolumeSource | None = None
    """Several sources in one directory."""
    quobyte: QuobyteVolumeSource | None = None
    """A Quobyte volume."""
    rbd: RBDVolumeSource | None = None
    """A Ceph block device."""
    scale_io: ScaleIOVolumeSource | None = field(default=None, name="scaleIO")
    """A ScaleIO volume."""
    secret: SecretVolumeSource | None = None
    """The keys of a secret."""
    storageos: StorageOSVolumeSource | None = None
    """A StorageOS volume."""
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    """A vSphere disk."""
