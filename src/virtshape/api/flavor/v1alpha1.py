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
    """Pins each vCPU to a dedicated host CPU."""
    numa: NUMA | None = None
    """The guest's NUMA nodes."""
    isolate_emulator_thread: bool | None = None
    """Gives the emulator a dedicated host CPU, in addition to those of the vCPUs."""
    realtime: Realtime | None = None
    """Tunes the vCPUs for low latency."""


class MemoryFlavor(Model):
    """The memory of a flavor."""

    guest: Quantity | None = None
    """Memory that the guest sees."""
    hugepages: Hugepages | None = None
    """Backs the guest's memory with huge pages of the host."""


class VirtualMachineFlavorSpec(Model):
    """vCPUs, memory and devices of VMs with this flavor; a VM cannot override them."""

    cpu: CPUFlavor
    """The guest's vCPUs."""
    memory: MemoryFlavor
    """The guest's memory."""
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
    """`VirtualMachineFlavor`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachineFlavorSpec
    """vCPUs, memory and devices of VMs with this flavor."""


class VirtualMachineClusterFlavor(KubernetesObject, kw_only=True):
    """A cluster-wide flavor."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`VirtualMachineClusterFlavor`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachineFlavorSpec
    """vCPUs, memory and devices of VMs with this flavor."""


class ClockPreferences(Model):
    """Preferred clock settings."""

    preferred_clock_offset: ClockOffset | None = None
    """Preferred time zone or UTC offset, for a VM that sets neither."""
    preferred_timer: Timer | None = None
    """Preferred timers, for a VM that sets none."""


class CPUPreferences(Model):
    """Preferred CPU topology."""

    preferred_cpu_topology: str | None = field(default=None, name="preferredCPUTopology")
    """Preferred topology: `preferCores` (default), `preferSockets` or `preferThreads`."""


class DevicePreferences(Model):
    """Preferred device settings."""

    preferred_autoattach_graphics_device: bool | None = None
    """Default of `autoattachGraphicsDevice`."""
    preferred_autoattach_mem_balloon: bool | None = None
    """Default of `autoattachMemBalloon`."""
    preferred_autoattach_pod_interface: bool | None = None
    """Default of `autoattachPodInterface`."""
    preferred_autoattach_serial_console: bool | None = None
    """Default of `autoattachSerialConsole`."""
    preferred_disable_hotplug: bool | None = None
    """Default of `disableHotplug`."""
    preferred_virtual_gpu_options: VGPUOptions | None = field(default=None, name="preferredVirtualGPUOptions")
    """The options of virtual GPUs for which the VM sets none."""
    preferred_sound_model: str | None = None
    """The model of a sound device that names none."""
    preferred_use_virtio_transitional: bool | None = None
    """Default of `useVirtioTransitional`."""
    preferred_input_bus: str | None = None
    """The bus of input devices that name none."""
    preferred_input_type: str | None = None
    """The type of input devices that name none."""
    preferred_disk_bus: str | None = None
    """The bus of plain disks that name none."""
    preferred_lun_bus: str | None = None
    """The bus of LUNs that name none."""
    preferred_cdrom_bus: str | None = None
    """The bus of CD-ROM drives that name none."""
    preferred_disk_dedicated_io_thread: bool | None = None
    """Default of `dedicatedIOThread` for virtio disks."""
    preferred_disk_cache: str | None = None
    """The cache mode of disks that name none: `none`, `writethrough` or `writeback`."""
    preferred_disk_io: str | None = field(default=None, name="preferredDiskIO")
    """The I/O mode of disks that name none: `native`, `default` or `threads`."""
    preferred_disk_block_size: BlockSize | None = None
    """The block sizes of disks that set none."""
    preferred_interface_model: str | None = None
    """The model of network interfaces that name none."""
    preferred_rng: Rng | None = None
    """A random number generator for a VM without one."""
    preferred_block_multi_queue: bool | None = None
    """Default of `blockMultiQueue`."""
    preferred_network_interface_multi_queue: bool | None = None
    """Default of `networkInterfaceMultiqueue`."""
    preferred_tpm: TPMDevice | None = field(default=None, name="preferredTPM")
    """A TPM for a VM without one."""


class FeaturePreferences(Model):
    """Preferred hypervisor features."""

    preferred_acpi: FeatureState | None = None
    """ACPI, for a VM that leaves it unset."""
    preferred_apic: FeatureAPIC | None = None
    """The APIC, for a VM that leaves it unset."""
    preferred_hyperv: FeatureHyperv | None = None
    """Hyper-V enlightenments, each of them for a VM that leaves it unset."""
    preferred_kvm: FeatureKVM | None = None
    """Visibility of KVM in the guest, for a VM that leaves it unset."""
    preferred_pvspinlock: FeatureState | None = None
    """Paravirtual spinlocks, for a VM that leaves them unset."""
    preferred_smm: FeatureState | None = None
    """System management mode, for a VM that leaves it unset."""


class FirmwarePreferences(Model):
    """Preferred firmware."""

    preferred_use_bios: bool | None = None
    """Whether a VM that names no boot loader boots with a BIOS."""
    preferred_use_bios_serial: bool | None = None
    """Whether the preferred BIOS writes to the serial console; needs `preferredUseBios`."""
    preferred_use_efi: bool | None = None
    """Whether a VM that names no boot loader boots with EFI."""
    preferred_use_secure_boot: bool | None = None
    """Whether the preferred EFI checks signatures (secure boot); needs `preferredUseEfi` and `preferredSmm`."""


class MachinePreferences(Model):
    """Preferred machine type."""

    preferred_machine_type: str | None = None
    """The machine type of a VM that names none."""


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
    """`VirtualMachinePreference`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""


class VirtualMachineClusterPreference(KubernetesObject, kw_only=True):
    """A cluster-wide preference."""

    api_version: str
    """The group and version of this object."""
    kind: str
    """`VirtualMachineClusterPreference`."""
    metadata: Metadata = NO_METADATA
    """Standard object metadata."""
    spec: VirtualMachinePreferenceSpec
    """Default values for the guest."""
