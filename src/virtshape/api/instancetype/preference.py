from msgspec import field

from virtshape.api.kubevirt.devices import BlockSize, Rng, TPMDevice, VGPUOptions
from virtshape.api.kubevirt.domain import EFI, CPUFeature, LaunchSecurity
from virtshape.api.kubevirt.features import ClockOffsetUTC, FeatureAPIC, FeatureHyperv, FeatureKVM, FeatureState, Timer
from virtshape.api.kubevirt.network import InterfaceMasquerade
from virtshape.api.model import Model, UInt32
from virtshape.api.quantity import Quantity


class ClockOffset(Model):
    timezone: str | None = None
    utc: ClockOffsetUTC | None = None


class ClockPreferences(Model):
    preferred_clock_offset: ClockOffset | None = None
    preferred_timer: Timer | None = None


class SpreadOptions(Model):
    across: str | None = None
    ratio: UInt32 | None = None


class CPUPreferences(Model):
    preferred_cpu_features: list[CPUFeature] | None = field(default=None, name="preferredCPUFeatures")
    preferred_cpu_topology: str | None = field(default=None, name="preferredCPUTopology")
    spread_options: SpreadOptions | None = None


class DevicePreferences(Model):
    preferred_autoattach_graphics_device: bool | None = None
    preferred_autoattach_input_device: bool | None = None
    preferred_autoattach_mem_balloon: bool | None = None
    preferred_autoattach_pod_interface: bool | None = None
    preferred_autoattach_serial_console: bool | None = None
    preferred_block_multi_queue: bool | None = None
    preferred_cdrom_bus: str | None = None
    preferred_disable_hotplug: bool | None = None
    preferred_disk_block_size: BlockSize | None = None
    preferred_disk_bus: str | None = None
    preferred_disk_cache: str | None = None
    preferred_disk_dedicated_io_thread: bool | None = None
    preferred_disk_io: str | None = field(default=None, name="preferredDiskIO")
    preferred_input_bus: str | None = None
    preferred_input_type: str | None = None
    preferred_interface_masquerade: InterfaceMasquerade | None = None
    preferred_interface_model: str | None = None
    preferred_lun_bus: str | None = None
    preferred_network_interface_multi_queue: bool | None = None
    preferred_panic_device_model: str | None = None
    preferred_rng: Rng | None = None
    preferred_sound_model: str | None = None
    preferred_tpm: TPMDevice | None = field(default=None, name="preferredTPM")
    preferred_use_virtio_transitional: bool | None = None
    preferred_video_type: str | None = None
    preferred_virtual_gpu_options: VGPUOptions | None = field(default=None, name="preferredVirtualGPUOptions")


class FeaturePreferences(Model):
    preferred_acpi: FeatureState | None = None
    preferred_apic: FeatureAPIC | None = None
    preferred_hyperv: FeatureHyperv | None = None
    preferred_kvm: FeatureKVM | None = None
    preferred_pvspinlock: FeatureState | None = None
    preferred_smm: FeatureState | None = None


class FirmwarePreferences(Model):
    preferred_efi: EFI | None = None
    preferred_use_bios: bool | None = None
    preferred_use_bios_serial: bool | None = None
    preferred_use_efi: bool | None = None
    preferred_use_secure_boot: bool | None = None


class MachinePreferences(Model):
    preferred_machine_type: str | None = None


class CPUPreferenceRequirement(Model):
    guest: UInt32


class MemoryPreferenceRequirement(Model):
    guest: Quantity


class PreferenceRequirements(Model):
    architecture: str | None = None
    cpu: CPUPreferenceRequirement | None = None
    memory: MemoryPreferenceRequirement | None = None


class VolumePreferences(Model):
    preferred_storage_class_name: str | None = None


class VirtualMachinePreferenceSpec(Model):
    annotations: dict[str, str] | None = None
    clock: ClockPreferences | None = None
    cpu: CPUPreferences | None = None
    devices: DevicePreferences | None = None
    features: FeaturePreferences | None = None
    firmware: FirmwarePreferences | None = None
    machine: MachinePreferences | None = None
    prefer_spread_socket_to_core_ratio: UInt32 | None = None
    preferred_architecture: str | None = None
    preferred_launch_security: LaunchSecurity | None = None
    preferred_subdomain: str | None = None
    preferred_termination_grace_period_seconds: int | None = None
    requirements: PreferenceRequirements | None = None
    volumes: VolumePreferences | None = None
