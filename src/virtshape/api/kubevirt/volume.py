from typing import Literal

from msgspec import field

from virtshape.api.core.pod import DownwardAPIVolumeFile, LocalObjectReference
from virtshape.api.core.volume import PersistentVolumeClaimVolumeSource
from virtshape.api.kubevirt.devices import Disk
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class UtilityVolume(Model):
    name: str
    claim_name: str
    type: str | None = None
    read_only: bool | None = None


class RemoveVolumeOptions(Model):
    name: str
    dry_run: list[str] | None = None


class DataVolumeVolumeSource(Model):
    name: str
    hotpluggable: bool | None = None


class HotpluggablePersistentVolumeClaim(Model):
    claim_name: str
    hotpluggable: bool | None = None
    read_only: bool | None = None


class HotplugVolumeSource(Model):
    data_volume: DataVolumeVolumeSource | None = None
    persistent_volume_claim: HotpluggablePersistentVolumeClaim | None = None


class AddVolumeOptions(Model):
    name: str
    disk: Disk
    volume_source: HotplugVolumeSource
    dry_run: list[str] | None = None


class CloudInitConfigDriveSource(Model):
    network_data: str | None = None
    network_data_base64: str | None = None
    network_data_secret_ref: LocalObjectReference | None = None
    secret_ref: LocalObjectReference | None = None
    user_data: str | None = None
    user_data_base64: str | None = None


class CloudInitNoCloudSource(Model):
    network_data: str | None = None
    network_data_base64: str | None = None
    network_data_secret_ref: LocalObjectReference | None = None
    secret_ref: LocalObjectReference | None = None
    user_data: str | None = None
    user_data_base64: str | None = None


class ConfigMapVolumeSource(Model):
    name: str | None = None
    optional: bool | None = None
    volume_label: str | None = None


class ContainerDiskSource(Model):
    image: str
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secret: str | None = None
    path: str | None = None


class ContainerPathVolumeSource(Model):
    path: str
    read_only: bool | None = None


class DownwardAPIVolumeSource(Model):
    fields: list[DownwardAPIVolumeFile] | None = None
    volume_label: str | None = None


class DownwardMetricsVolumeSource(Model):
    pass


class EmptyDiskSource(Model):
    capacity: Quantity


class EphemeralVolumeSource(Model):
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None


class HostDisk(Model):
    type: str
    path: str
    capacity: Quantity | None = None
    shared: bool | None = None


class MemoryDumpVolumeSource(Model):
    claim_name: str
    hotpluggable: bool | None = None
    read_only: bool | None = None


class SecretVolumeSource(Model):
    optional: bool | None = None
    secret_name: str | None = None
    volume_label: str | None = None


class ServiceAccountVolumeSource(Model):
    service_account_name: str | None = None


class SysprepSource(Model):
    config_map: LocalObjectReference | None = None
    secret: LocalObjectReference | None = None


class Volume(Model):
    name: str
    cloud_init_config_drive: CloudInitConfigDriveSource | None = None
    cloud_init_no_cloud: CloudInitNoCloudSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    container_disk: ContainerDiskSource | None = None
    container_path: ContainerPathVolumeSource | None = None
    data_volume: DataVolumeVolumeSource | None = None
    downward_api: DownwardAPIVolumeSource | None = field(default=None, name="downwardAPI")
    downward_metrics: DownwardMetricsVolumeSource | None = None
    empty_disk: EmptyDiskSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    host_disk: HostDisk | None = None
    memory_dump: MemoryDumpVolumeSource | None = None
    persistent_volume_claim: HotpluggablePersistentVolumeClaim | None = None
    secret: SecretVolumeSource | None = None
    service_account: ServiceAccountVolumeSource | None = None
    sysprep: SysprepSource | None = None
