"""
Structs of flavor.kubevirt.io/v1alpha1: flavors and their preferences.

The API server does not convert flavors to instance types or back.
"""

from msgspec import field

from virtshape.api.instancetype.preference import ClockOffset
from virtshape.api.kubevirt.devices import GPU, BlockSize, HostDevice, Rng, TPMDevice, VGPUOptions
from virtshape.api.kubevirt.domain import NUMA, Hugepages, LaunchSecurity, Realtime
from virtshape.api.kubevirt.features import FeatureAPIC, FeatureHyperv, FeatureKVM, FeatureState, Timer
from virtshape.api.meta import NO_METADATA, KubernetesObject, Metadata
from virtshape.api.model import Model, UInt32
from virtshape.api.quantity import Quantity


class CPUFlavor(Model):
    """The vCPUs of a flavor."""

    guest: UInt32
    """Number of vCPUs; a preference decides their topology."""
    model: str | None = None
    """The CPU model that the guest sees: `host-model` (default), `host-passthrough` or the name of a model."""
    dedicated_cpu_placement: bool | None = field(default=None, name="dedicatedCPUPlacement")
    """Whether each vCPU is pinned to a dedicated host CPU."""
    numa: NUMA | None = None
    """The guest's NUMA nodes."""
    isolate_emulator_thread: bool | None = None
    """Whether the emulator thread has a dedicated host CPU, in addition to those of the vCPUs."""
    realtime: Realtime | None = None
    """Settings that tune the vCPUs for low latency."""


class MemoryFlavor(Model):
    """The memory of a flavor."""

    guest: Quantity | None = None
    """Memory that the guest sees."""
    hugepages: Hugepages | None = None
    """The host's huge pages that back the guest's memory."""


class VirtualMachineFlavorSpec(Model):
    """vCPUs, memory and devices of VMs with this flavor; a VM cannot override them."""

    cpu: CPUFlavor
    """Number, model and placement of the guest's vCPUs."""
    memory: MemoryFlavor
    """Size and huge pages of the guest's memory."""
    gpus: list[GPU] | None = None
    """The GPUs that are passed through to the guest."""
    host_devices: list[HostDevice] | None = None
    """Other devices of the host that are passed through to the guest."""
    io_threads_policy: str | None = None
    """How disks share I/O threads: `shared`, `auto` or `supplementalPool`."""
    launch_security: LaunchSecurity | None = None
    """Memory encryption of the guest."""


class VirtualMachineFlavor(KubernetesObject, kw_only=True):
    """A flavor in a namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `VirtualMachineFlavor`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachineFlavorSpec
    """vCPUs, memory and devices of VMs with this flavor."""


class VirtualMachineClusterFlavor(KubernetesObject, kw_only=True):
    """A cluster-wide flavor."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `VirtualMachineClusterFlavor`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachineFlavorSpec
    """vCPUs, memory and devices of VMs with this flavor."""


class ClockPreferences(Model):
    """Preferred clock settings."""

    preferred_clock_offset: ClockOffset | None = None
    """Preferred time zone or UTC offset, for a VM that sets neither."""
    preferred_timer: Timer | None = None
    """Preferred timers, for a VM that does not set timers."""


class CPUPreferences(Model):
    """Preferred CPU topology."""

    preferred_cpu_topology: str | None = field(default=None, name="preferredCPUTopology")
    """Preferred topology: `preferCores` (default), `preferSockets` or `preferThreads`."""


class DevicePreferences(Model):
    """Preferred device settings."""

    preferred_autoattach_graphics_device: bool | None = None
    """Preferred value of `autoattachGraphicsDevice`."""
    preferred_autoattach_mem_balloon: bool | None = None
    """Preferred value of `autoattachMemBalloon`."""
    preferred_autoattach_pod_interface: bool | None = None
    """Preferred value of `autoattachPodInterface`."""
    preferred_autoattach_serial_console: bool | None = None
    """Preferred value of `autoattachSerialConsole`."""
    preferred_disable_hotplug: bool | None = None
    """Preferred value of `disableHotplug`."""
    preferred_virtual_gpu_options: VGPUOptions | None = field(default=None, name="preferredVirtualGPUOptions")
    """Options of virtual GPUs for which the VM does not set options."""
    preferred_sound_model: str | None = None
    """Model of a sound device that does not set one."""
    preferred_use_virtio_transitional: bool | None = None
    """Preferred value of `useVirtioTransitional`."""
    preferred_input_bus: str | None = None
    """Bus of input devices that do not set one."""
    preferred_input_type: str | None = None
    """Type of input devices that do not set one."""
    preferred_disk_bus: str | None = None
    """Bus of plain disks that do not set one."""
    preferred_lun_bus: str | None = None
    """Bus of LUNs that do not set one."""
    preferred_cdrom_bus: str | None = None
    """Bus of CD-ROM drives that do not set one."""
    preferred_disk_dedicated_io_thread: bool | None = None
    """Preferred value of `dedicatedIOThread` for virtio disks."""
    preferred_disk_cache: str | None = None
    """Cache mode of disks that do not set one: `none`, `writethrough` or `writeback`."""
    preferred_disk_io: str | None = field(default=None, name="preferredDiskIO")
    """I/O mode of disks that do not set one: `native`, `default` or `threads`."""
    preferred_disk_block_size: BlockSize | None = None
    """Block sizes of disks that do not set them."""
    preferred_interface_model: str | None = None
    """Model of network interfaces that do not set one."""
    preferred_rng: Rng | None = None
    """A random number generator for a VM without one."""
    preferred_block_multi_queue: bool | None = None
    """Preferred value of `blockMultiQueue`."""
    preferred_network_interface_multi_queue: bool | None = None
    """Preferred value of `networkInterfaceMultiqueue`."""
    preferred_tpm: TPMDevice | None = field(default=None, name="preferredTPM")
    """A TPM for a VM without one."""


class FeaturePreferences(Model):
    """Preferred hypervisor features."""

    preferred_acpi: FeatureState | None = None
    """ACPI, for a VM that leaves it unset."""
    preferred_apic: FeatureAPIC | None = None
    """The APIC, for a VM that leaves it unset."""
    preferred_hyperv: FeatureHyperv | None = None
    """Hyper-V enlightenments; each one applies to a VM that leaves it unset."""
    preferred_kvm: FeatureKVM | None = None
    """Visibility of KVM in the guest, for a VM that leaves it unset."""
    preferred_pvspinlock: FeatureState | None = None
    """Paravirtual spinlocks, for a VM that leaves them unset."""
    preferred_smm: FeatureState | None = None
    """System management mode, for a VM that leaves it unset."""


class FirmwarePreferences(Model):
    """Preferred firmware."""

    preferred_use_bios: bool | None = None
    """Whether a VM that sets no boot loader boots with a BIOS."""
    preferred_use_bios_serial: bool | None = None
    """Whether the preferred BIOS writes to the serial console; needs `preferredUseBios`."""
    preferred_use_efi: bool | None = None
    """Whether a VM that sets no boot loader boots with EFI."""
    preferred_use_secure_boot: bool | None = None
    """Whether the preferred EFI checks signatures (secure boot); needs `preferredUseEfi` and `preferredSmm`."""


class MachinePreferences(Model):
    """Preferred machine type."""

    preferred_machine_type: str | None = None
    """Machine type of a VM that does not set one."""


class VirtualMachinePreferenceSpec(Model):
    """Default values for the guest; they never override the VM."""

    clock: ClockPreferences | None = None
    """Preferred clock settings."""
    cpu: CPUPreferences | None = None
    """Preferred layout of the vCPUs."""
    devices: DevicePreferences | None = None
    """Preferred device settings."""
    features: FeaturePreferences | None = None
    """Preferred hypervisor features."""
    firmware: FirmwarePreferences | None = None
    """Preferred firmware."""
    machine: MachinePreferences | None = None
    """Preferred machine type."""


class VirtualMachinePreference(KubernetesObject, kw_only=True):
    """A preference in a namespace."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `VirtualMachinePreference`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class VirtualMachineClusterPreference(KubernetesObject, kw_only=True):
    """A cluster-wide preference."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """The kind of this object: `VirtualMachineClusterPreference`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""
