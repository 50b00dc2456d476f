"""
Structs for preferences: default values for guests, such as buses, firmware and clock.

Every version of the instancetype group uses the same structs. A preference sets fields that the VM leaves unset and
never overrides the VM.
"""

from msgspec import field

from virtshape.api.kubevirt.devices import BlockSize, Rng, TPMDevice, VGPUOptions
from virtshape.api.kubevirt.domain import EFI, CPUFeature, LaunchSecurity
from virtshape.api.kubevirt.features import ClockOffsetUTC, FeatureAPIC, FeatureHyperv, FeatureKVM, FeatureState, Timer
from virtshape.api.kubevirt.network import InterfaceMasquerade
from virtshape.api.model import Model, UInt32
from virtshape.api.quantity import Quantity


class ClockOffset(Model):
    """Offset of the guest's clock: UTC or a time zone."""

    utc: ClockOffsetUTC | None = None
    """Start the clock at UTC, optionally some seconds ahead or behind; mutually exclusive with timezone."""
    timezone: str | None = None
    """Start the clock at the local time of this zone, such as Europe/Oslo; mutually exclusive with utc."""


class ClockPreferences(Model):
    """Preferred clock and timers."""

    preferred_clock_offset: ClockOffset | None = None
    """Offset of the clock; ignored if the VM sets utc or timezone."""
    preferred_timer: Timer | None = None
    """The timers; they apply as a whole, and only to a VM that sets no timers."""


class SpreadOptions(Model):
    """How the topology `spread` distributes the vCPUs."""

    across: str | None = None
    """Levels to spread across: SocketsCores (default), SocketsCoresThreads or CoresThreads."""
    ratio: UInt32 | None = None
    """Cores per socket, 2 by default. With CoresThreads, the number of threads per core, which must be 2."""


class CPUPreferences(Model):
    """Preferred topology and features of the vCPUs."""

    preferred_cpu_topology: str | None = field(default=None, name="preferredCPUTopology")
    """Preferred topology: sockets (default), cores, threads, spread or any; the instance type can override it."""
    spread_options: SpreadOptions | None = None
    """How vCPUs are spread; only used with the topology spread."""
    preferred_cpu_features: list[CPUFeature] | None = field(default=None, name="preferredCPUFeatures")
    """CPU features to add; a feature that the VM also lists keeps the VM's policy."""


class DevicePreferences(Model):
    """Preferred device settings; they apply to fields that the VM does not set."""

    preferred_disk_bus: str | None = None
    """Bus of ordinary disks: virtio, sata, scsi or usb."""
    preferred_cdrom_bus: str | None = None
    """Bus of CD-ROM drives: sata, scsi or usb."""
    preferred_lun_bus: str | None = None
    """Bus of disks passed through as a LUN, mostly scsi."""
    preferred_disk_cache: str | None = None
    """Host cache mode of ordinary disks: none, writethrough or writeback."""
    preferred_disk_io: str | None = field(default=None, name="preferredDiskIO")
    """I/O mode of ordinary disks: native, threads or default."""
    preferred_disk_block_size: BlockSize | None = None
    """Block sizes that ordinary disks report to the guest."""
    preferred_disk_dedicated_io_thread: bool | None = None
    """Whether each ordinary disk on the virtio bus gets its own I/O thread."""
    preferred_block_multi_queue: bool | None = None
    """Whether virtio disks have one queue per vCPU instead of a single queue."""
    preferred_interface_model: str | None = None
    """Model of network interfaces, such as virtio or e1000e."""
    preferred_interface_masquerade: InterfaceMasquerade | None = None
    """`{}` sets the masquerade binding (NAT) for pod network interfaces without a binding."""
    preferred_network_interface_multi_queue: bool | None = None
    """Whether virtio network cards have one queue per vCPU instead of a single queue."""
    preferred_input_bus: str | None = None
    """Bus of input devices: usb or virtio."""
    preferred_input_type: str | None = None
    """Type of input devices; only tablet is supported."""
    preferred_sound_model: str | None = None
    """Model of the sound device, if the VM has one: ich9 or ac97."""
    preferred_video_type: str | None = None
    """Type of the video device, such as virtio, vga or bochs, for a VM that does not set it."""
    preferred_panic_device_model: str | None = None
    """Model of the panic device: hyperv, isa or pvpanic; the device is added if the VM has none."""
    preferred_rng: Rng | None = None
    """`{}` adds a random number generator to a VM without one."""
    preferred_tpm: TPMDevice | None = field(default=None, name="preferredTPM")
    """Emulated TPM for a VM without one; Windows 11, for example, requires a TPM."""
    preferred_virtual_gpu_options: VGPUOptions | None = field(default=None, name="preferredVirtualGPUOptions")
    """Display settings of vGPUs for which the VM sets no display settings."""
    preferred_autoattach_graphics_device: bool | None = None
    """Whether the VM gets a graphics card, which VNC needs; true if unset."""
    preferred_autoattach_input_device: bool | None = None
    """Whether a VM without an input device gets one; false if unset."""
    preferred_autoattach_mem_balloon: bool | None = None
    """Whether the VM gets a memory balloon, which reports its memory use; true if unset."""
    preferred_autoattach_pod_interface: bool | None = None
    """Whether a VM without interfaces is connected to the pod network; true if unset."""
    preferred_autoattach_serial_console: bool | None = None
    """Whether the VM gets a serial console, which `virtctl console` needs; true if unset."""
    preferred_disable_hotplug: bool | None = None
    """Set to true to disable hotplug of volumes."""
    preferred_use_virtio_transitional: bool | None = None
    """Set to true for old guests, such as CentOS 6, whose virtio drivers only support versions before 1.0."""


class FeaturePreferences(Model):
    """Preferred hypervisor features."""

    preferred_acpi: FeatureState | None = None
    """ACPI, which describes the hardware and handles shutdown requests."""
    preferred_apic: FeatureAPIC | None = None
    """The interrupt controller of x86 machines."""
    preferred_hyperv: FeatureHyperv | None = None
    """Hyper-V enlightenments for Windows; each one applies if the VM leaves it unset."""
    preferred_kvm: FeatureKVM | None = None
    """Visibility of KVM in the guest."""
    preferred_pvspinlock: FeatureState | None = None
    """Paravirtual spinlocks: a waiting vCPU does not use host CPU time."""
    preferred_smm: FeatureState | None = None
    """System management mode; required for secure boot."""


class FirmwarePreferences(Model):
    """Preferred firmware; a VM that sets its bootloader keeps it."""

    preferred_efi: EFI | None = None
    """Boot with EFI; {} means secure boot, without persistent variables."""
    preferred_use_bios: bool | None = None
    """Set to true to boot with a BIOS; overrides EFI preferences."""
    preferred_use_bios_serial: bool | None = None
    """Set to true to see the BIOS messages on the serial console; needs preferredUseBios."""
    preferred_use_efi: bool | None = None
    """Deprecated in favour of preferredEfi: set to true to boot with EFI."""
    preferred_use_secure_boot: bool | None = None
    """Deprecated in favour of preferredEfi: set to true for secure boot; needs preferredUseEfi and preferredSmm."""


class MachinePreferences(Model):
    """Preferred machine type."""

    preferred_machine_type: str | None = None
    """QEMU machine type, such as q35 or pc-q35-rhel9.4.0."""


class CPUPreferenceRequirement(Model):
    """Minimum vCPUs of the guest."""

    guest: UInt32
    """Minimum number of vCPUs, regardless of their topology."""


class MemoryPreferenceRequirement(Model):
    """Minimum memory of the guest."""

    guest: Quantity
    """Minimum guest memory, such as 2Gi."""


class PreferenceRequirements(Model):
    """Requirements of a preference; a VM that does not meet them is rejected."""

    cpu: CPUPreferenceRequirement | None = None
    """Minimum vCPUs of the guest."""
    memory: MemoryPreferenceRequirement | None = None
    """Minimum memory of the guest."""
    architecture: str | None = None
    """The required CPU architecture: amd64, arm64 or s390x."""


class VolumePreferences(Model):
    """Preferred storage settings of a VM."""

    preferred_storage_class_name: str | None = None
    """Storage class for the VM's dataVolumeTemplates that do not set one."""


class VirtualMachinePreferenceSpec(Model):
    """Default values for the guest, and its requirements."""

    cpu: CPUPreferences | None = None
    """CPU topology and features."""
    devices: DevicePreferences | None = None
    """Buses, models and other device settings."""
    features: FeaturePreferences | None = None
    """Hypervisor features, such as Hyper-V enlightenments."""
    firmware: FirmwarePreferences | None = None
    """BIOS or EFI."""
    machine: MachinePreferences | None = None
    """The machine type."""
    clock: ClockPreferences | None = None
    """Clock offset and timers."""
    volumes: VolumePreferences | None = None
    """Preferred storage class of the VM's dataVolumeTemplates."""
    preferred_architecture: str | None = None
    """CPU architecture of a VM that does not set one: amd64, arm64 or s390x."""
    preferred_launch_security: LaunchSecurity | None = None
    """Memory encryption of the guest: one of sev, snp and tdx."""
    preferred_subdomain: str | None = None
    """DNS subdomain of a VM that does not set one; a headless Service of that name makes its host name resolvable."""
    preferred_termination_grace_period_seconds: int | None = None
    """Seconds that the guest has to shut down before it is powered off."""
    prefer_spread_socket_to_core_ratio: UInt32 | None = None
    """Deprecated in favour of cpu.spreadOptions.ratio, which overrides this field: cores per socket; 2 by default."""
    annotations: dict[str, str] | None = None
    """Annotations for the running instance; the VM's template takes precedence."""
    requirements: PreferenceRequirements | None = None
    """Requirements for VMs that use this preference."""
