"""
Structs for VM volumes: the content of disks and shared directories.

The disk of the same name defines how the guest sees the volume.
"""

from typing import Literal

from msgspec import field

from virtshape.api.core.claimspec import PersistentVolumeClaimVolumeSource
from virtshape.api.core.podshared import DownwardAPIVolumeFile, LocalObjectReference
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class UtilityVolume(Model):
    """A claim that only the VM's launcher uses, such as the target of a backup."""

    name: str
    """Name of this volume; unique among the volumes of the VM."""
    claim_name: str
    """PersistentVolumeClaim to use, in the VM's namespace."""
    type: str | None = None
    """Purpose, for example `MemoryDump` or `Backup`."""
    read_only: bool | None = None
    """`true` mounts the claim read-only. Default: false."""


class RemoveVolumeOptions(Model):
    """A request to unplug a volume and its disk from a running VM."""

    name: str
    """Name that the volume and its disk share."""
    dry_run: list[str] | None = None
    """Set to `[All]` for a dry run."""


class DataVolumeVolumeSource(Model):
    """A disk whose content a DataVolume imports, clones or receives as an upload."""

    name: str
    """Name of the DataVolume, and of the claim that it populates, in the VM's namespace."""
    hotpluggable: bool | None = None
    """`true` if the volume may be plugged in and unplugged while the VM runs. Default: false."""


class HotpluggablePersistentVolumeClaim(Model):
    """A claim used as the storage of a disk; the guest's writes are kept."""

    claim_name: str
    """PersistentVolumeClaim to use, in the VM's namespace."""
    hotpluggable: bool | None = None
    """`true` if the volume may be plugged in and unplugged while the VM runs. Default: false."""
    read_only: bool | None = None
    """`true` mounts the claim read-only. Default: false."""


class HotplugVolumeSource(Model):
    """Storage that can be plugged into a running VM; exactly one field must be set."""

    data_volume: DataVolumeVolumeSource | None = None
    """Plug in the claim of a DataVolume, once it is populated."""
    persistent_volume_claim: HotpluggablePersistentVolumeClaim | None = None
    """Plug in an existing claim."""


class AddVolumeOptions(Model):
    """A request to plug a volume and a disk into a running VM."""

    name: str
    """Name of the volume and its disk; overrides the name in `disk`."""
    disk: Disk
    """The disk as the guest will see it."""
    volume_source: HotplugVolumeSource
    """The storage that holds the disk's content."""
    dry_run: list[str] | None = None
    """Set to `[All]` for a dry run."""


class CloudInitConfigDriveSource(Model):
    """Cloud-init data as an OpenStack config drive; at most one source each for user data and network data."""

    user_data: str | None = None
    """User data as plain text, for example a `#cloud-config` document."""
    user_data_base64: str | None = None
    """User data in base64, for content that is not plain text."""
    secret_ref: LocalObjectReference | None = None
    """Secret with the user data under the key `userdata`."""
    network_data: str | None = None
    """Network configuration as plain text."""
    network_data_base64: str | None = None
    """Network configuration in base64."""
    network_data_secret_ref: LocalObjectReference | None = None
    """Secret with the network configuration under the key `networkdata`."""


class CloudInitNoCloudSource(Model):
    """Cloud-init data as a NoCloud disk; at most one source each for user data and network data."""

    user_data: str | None = None
    """User data as plain text, for example a `#cloud-config` document."""
    user_data_base64: str | None = None
    """User data in base64, for content that is not plain text."""
    secret_ref: LocalObjectReference | None = None
    """Secret with the user data under the key `userdata`."""
    network_data: str | None = None
    """Network configuration as plain text."""
    network_data_base64: str | None = None
    """Network configuration in base64."""
    network_data_secret_ref: LocalObjectReference | None = None
    """Secret with the network configuration under the key `networkdata`."""


class ConfigMapVolumeSource(Model):
    """A ConfigMap as a small disk or shared directory, one file per key."""

    name: str | None = None
    """Name of the ConfigMap, in the VM's namespace; required."""
    optional: bool | None = None
    """`true` starts the VM even when the ConfigMap does not exist. Default: false."""
    volume_label: str | None = None
    """File system label by which the guest finds the disk, such as `cidata`, `config-2` or `OEMDRV`."""


class ContainerDiskSource(Model):
    """A disk image in a container image; the guest's writes are lost when the VM stops."""

    image: str
    """Reference to the container image."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When to pull: `Always` is the default for the tag `latest`, `IfNotPresent` for others."""
    image_pull_secret: str | None = None
    """Name of the secret with the registry's credentials, in the VM's namespace."""
    path: str | None = None
    """Absolute path of the disk image in the container image. Default: the only file in `/disk`."""


class ContainerPathVolumeSource(Model):
    """A directory in the VM's launcher container that is shared with the guest over virtiofs."""

    path: str
    """Absolute path of a mount in the launcher container."""
    read_only: bool | None = None
    """Whether the directory is read-only; only `true`, the default, is supported."""


class DownwardAPIVolumeSource(Model):
    """Fields of the VM's own pod as a small disk or shared directory."""

    fields: list[DownwardAPIVolumeFile] | None = None
    """The files, each with the field of the pod that it shows."""
    volume_label: str | None = None
    """File system label by which the guest finds the disk, such as `cidata`, `config-2` or `OEMDRV`."""


class DownwardMetricsVolumeSource(Model):
    """A tiny disk with metrics of host and guest in the format of vhostmd (no settings)."""


class EmptyDiskSource(Model):
    """An empty disk that is deleted when the VM stops, for swap or scratch data."""

    capacity: Quantity
    """Size of the disk, for example `10Gi`; space is taken only as the guest writes."""


class EphemeralVolumeSource(Model):
    """A claim used as a read-only base; the guest's writes are discarded when the VM stops."""

    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    """The base claim; several VMs can share it."""


class HostDisk(Model):
    """A disk image in a file on the node; ties the VM to that node unless the file is shared."""

    path: str
    """Absolute path of the image file on the node."""
    type: str
    """Type: `Disk` if the file must exist, or `DiskOrCreate` to create it if it is missing."""
    capacity: Quantity | None = None
    """Size of the image, for example `20Gi`; required with `DiskOrCreate`."""
    shared: bool | None = None
    """`true` if all nodes have the same file, so that the VM can migrate. Default: false."""


class MemoryDumpVolumeSource(Model):
    """A claim for a dump of the guest's memory; the guest does not see it."""

    claim_name: str
    """PersistentVolumeClaim to write to, in the VM's namespace; it must be large enough for the guest's memory."""
    hotpluggable: bool | None = None
    """`true` if the claim was plugged into the running VM, as `virtctl memory-dump` does. Default: false."""
    read_only: bool | None = None
    """`true` mounts the claim read-only, which prevents a dump. Default: false."""


class SecretVolumeSource(Model):
    """A Secret as a small disk or shared directory, one file per key."""

    secret_name: str | None = None
    """Name of the Secret, in the VM's namespace."""
    optional: bool | None = None
    """`true` starts the VM even when the Secret does not exist. Default: false."""
    volume_label: str | None = None
    """File system label by which the guest finds the disk, such as `cidata`, `config-2` or `OEMDRV`."""


class ServiceAccountVolumeSource(Model):
    """The token of a service account as a small disk or shared directory, for access to the cluster's API."""

    service_account_name: str | None = None
    """Name of the ServiceAccount, in the VM's namespace."""


class SysprepSource(Model):
    """Answer files for the unattended setup of Windows, on a CD-ROM; exactly one of the two sources must be set."""

    config_map: LocalObjectReference | None = None
    """ConfigMap with the answer files, such as `autounattend.xml` or `unattend.xml`."""
    secret: LocalObjectReference | None = None
    """Secret with the answer files; better than a ConfigMap when they contain passwords."""


class Volume(Model):
    """Content for a disk or a shared directory: a name and exactly one source."""

    name: str
    """Name by which a disk or filesystem refers to this volume; a DNS label, unique in the VM."""
    container_disk: ContainerDiskSource | None = None
    """A disk image from a registry; changes are discarded when the VM stops."""
    data_volume: DataVolumeVolumeSource | None = None
    """A disk populated by a DataVolume; changes are kept. The VM starts when the import is complete."""
    persistent_volume_claim: HotpluggablePersistentVolumeClaim | None = None
    """A claim with a disk image or a block device; changes are kept."""
    ephemeral: EphemeralVolumeSource | None = None
    """A read-only claim; changes are discarded when the VM stops."""
    empty_disk: EmptyDiskSource | None = None
    """A blank scratch disk."""
    host_disk: HostDisk | None = None
    """An image file on the node; for tests and single-node clusters."""
    cloud_init_no_cloud: CloudInitNoCloudSource | None = None
    """First-boot configuration for cloud-init, as a NoCloud disk; fits most cloud images."""
    cloud_init_config_drive: CloudInitConfigDriveSource | None = None
    """First-boot configuration for cloud-init or Ignition, as a config drive; also carries device tags."""
    sysprep: SysprepSource | None = None
    """First-boot configuration for Windows."""
    config_map: ConfigMapVolumeSource | None = None
    """Files from a ConfigMap."""
    secret: SecretVolumeSource | None = None
    """Files from a Secret."""
    service_account: ServiceAccountVolumeSource | None = None
    """The token of a service account; at most one such volume per VM."""
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name="downwardAPI")
    """Labels, annotations and other fields of the VM's pod, as files."""
    downward_metrics: DownwardMetricsVolumeSource | None = None
    """Metrics of host and guest, as a tiny disk."""
    container_path: ContainerPathVolumeSource | None = None
    """A directory in the launcher container; only a filesystem, not a disk, may refer to this volume."""
    memory_dump: MemoryDumpVolumeSource | None = None
    """Target of a memory dump; added and removed by `virtctl memory-dump`."""


def is_hotpluggable(volume: Volume) -> bool:
    """Return True if the volume may be attached and detached while the guest runs."""
    source = volume.data_volume or volume.persistent_volume_claim
    return source is not None and bool(source.hotpluggable)
