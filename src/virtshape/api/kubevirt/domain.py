"""Structs for the virtual hardware of a guest: CPU, memory, firmware, machine type and node resources."""

from typing import Literal

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.features import Clock, Features
from virtshape.api.model import Model, UInt32
from virtshape.api.quantity import Quantity


class Chassis(Model):
    """Chassis information in the guest's SMBIOS tables (type 3)."""

    manufacturer: str | None = None
    """Manufacturer of the chassis, as `dmidecode` prints it."""
    version: str | None = None
    """Version of the chassis; free text."""
    serial: str | None = None
    """Serial number of the chassis; the system's serial number is `firmware.serial`."""
    asset: str | None = None
    """Asset tag, for inventory tools inside the guest."""
    sku: str | None = None
    """Stock-keeping unit of the chassis; free text."""


class CPUFeature(Model):
    """A CPU feature and its policy."""

    name: str
    """Name of the feature in libvirt, for example `avx2` or `vmx`."""
    policy: str | None = None
    """Policy: `force`, `require` (default; runs only on nodes with the feature), `optional`, `disable` or `forbid`."""


class NUMAGuestMappingPassthrough(Model):
    """Gives the guest the NUMA layout of the CPUs that it is pinned to (no settings)."""


class NUMA(Model):
    """The NUMA nodes that the guest sees."""

    guest_mapping_passthrough: NUMAGuestMappingPassthrough | None = None
    """`{}` mirrors the node's NUMA layout; needs `dedicatedCpuPlacement` and hugepages."""


class Realtime(Model):
    """Tuning for real-time guests; needs `dedicatedCpuPlacement`."""

    mask: str | None = None
    """The vCPUs to run with realtime priority, such as `0-3,^1` (0, 2 and 3). Default: all vCPUs."""


class CPU(Model):
    """The virtual CPUs: number, topology, model and placement."""

    guest: UInt32 | None = None
    """Number of vCPUs; the preference sets their topology, by default one per socket. Conflicts with a topology."""
    sockets: UInt32 | None = None
    """CPU sockets, at least 1; vCPUs = sockets x cores x threads. Conflicts with an instance type and with `guest`."""
    cores: UInt32 | None = None
    """Cores per socket, at least 1. Conflicts with an instance type and with `guest`."""
    threads: UInt32 | None = None
    """Threads per core, at least 1. Conflicts with an instance type and with `guest`."""
    max_sockets: UInt32 | None = None
    """Maximum sockets of the running VM with CPU hotplug; a value in the instance type takes precedence."""
    model: str | None = None
    """CPU model by its libvirt name, `host-model` (default), or `host-passthrough` for exactly the node's CPU."""
    features: list[CPUFeature] | None = None
    """CPU features to add or remove; a preference adds features that are not listed here."""
    dedicated_cpu_placement: bool | None = None
    """`true` pins each vCPU to a dedicated CPU of the node. Default: false."""
    isolate_emulator_thread: bool | None = None
    """`true` runs QEMU's emulator thread on an additional dedicated CPU. Default: false."""
    numa: NUMA | None = None
    """The guest's NUMA layout; a single node when absent."""
    realtime: Realtime | None = None
    """Settings that tune the vCPUs for low latency, at the cost of throughput."""


class ACPI(Model):
    """License tables for a Windows guest, each read from a `secret` volume of this VM."""

    msdm_name_ref: str | None = None
    """Name of the volume that contains the MSDM table, with the product key of Windows 8 and later."""
    slic_name_ref: str | None = None
    """Name of the volume that contains the SLIC table, used to activate Windows 7 and older."""


class BIOS(Model):
    """The legacy PC firmware."""

    use_serial: bool | None = None
    """`true` also prints the firmware's output on the serial console. Default: false."""


class EFI(Model):
    """The UEFI firmware."""

    secure_boot: bool | None = None
    """Whether only signed boot loaders are booted, which needs the feature `smm`. Default: true."""
    persistent: bool | None = None
    """`true` keeps the firmware's variables (boot entries, enrolled keys) when the VM is stopped. Default: false."""


class Bootloader(Model):
    """The firmware that starts the guest: either BIOS or EFI."""

    bios: BIOS | None = None
    """Boot with the legacy BIOS, the default on x86. Mutually exclusive with `efi`."""
    efi: EFI | None = None
    """Boot with UEFI, as recent Windows and all Arm guests need. Mutually exclusive with `bios`."""


class KernelBootContainer(Model):
    """A container image with a kernel, an initial RAM disk, or both."""

    image: str
    """Reference to the container image."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When to pull: `Always` is the default for the tag `latest`, `IfNotPresent` for others."""
    image_pull_secret: str | None = None
    """Name of the secret with the registry's credentials, in the VM's namespace."""
    kernel_path: str | None = None
    """Absolute path of the kernel inside the image."""
    initrd_path: str | None = None
    """Absolute path of the initial RAM disk inside the image."""


class KernelBoot(Model):
    """Boots a kernel directly, without a boot loader."""

    container: KernelBootContainer | None = None
    """Container image with the kernel and the initial RAM disk."""
    kernel_args: str | None = None
    """Kernel command line, for example `console=ttyS0 root=/dev/vda1`. Needs a kernel in `container`."""


class Firmware(Model):
    """Boot settings, and the identity that the firmware reports."""

    bootloader: Bootloader | None = None
    """BIOS or EFI; when absent, the preference decides, or else the architecture."""
    kernel_boot: KernelBoot | None = None
    """Boot a kernel from a container image instead of a boot loader."""
    uuid: str | None = None
    """System UUID in the guest; set when the VM is created, and kept across restarts."""
    serial: str | None = None
    """System serial number in the guest; set when the VM is created."""
    acpi: ACPI | None = None
    """Additional ACPI tables, for hardware-bound licenses."""


class DiskIOThreads(Model):
    """Size of the pool of threads that serve the disks."""

    supplemental_pool_thread_count: UInt32 | None = None
    """Threads in the pool; needs the I/O thread policy `supplementalPool`."""


class SEVAttestation(Model):
    """Starts the guest only after attestation by its owner (no settings)."""


class SEVPolicy(Model):
    """Policy of the AMD firmware for the guest; debugging is always disabled."""

    encrypted_state: bool | None = None
    """`true` also encrypts the CPU registers (SEV-ES). Default: false."""


class SEV(Model):
    """AMD Secure Encrypted Virtualization: memory encryption. Needs EFI without secure boot."""

    policy: SEVPolicy | None = None
    """Policy of the firmware."""
    attestation: SEVAttestation | None = None
    """`{}` starts the VM paused until a launch secret is injected; needs the start strategy `Paused`."""
    session: str | None = None
    """The guest owner's session data, in base64; needs `dhCert`."""
    dh_cert: str | None = None
    """The guest owner's Diffie-Hellman certificate, in base64; needs `session`."""


class SEVSNP(Model):
    """AMD SEV-SNP, which also protects the integrity of memory (no settings)."""


class TDX(Model):
    """Intel Trust Domain Extensions (no settings)."""


class LaunchSecurity(Model):
    """Confidential computing; exactly one technology must be set."""

    sev: SEV | None = None
    """Encrypt the memory with AMD SEV or SEV-ES."""
    snp: SEVSNP | None = None
    """`{}` runs the guest under AMD SEV-SNP."""
    tdx: TDX | None = None
    """`{}` runs the guest as an Intel TDX trust domain."""


class Machine(Model):
    """The machine type."""

    type: str | None = None
    """QEMU machine type. Default: `q35` on amd64, `virt` on arm64, `s390-ccw-virtio` on s390x."""


class Hugepages(Model):
    """Backs the guest's memory with huge pages reserved on the node."""

    page_size: str | None = None
    """Size of a page, `2Mi` or `1Gi` on amd64; the guest's memory must be a multiple of it."""


class ReservedOverhead(Model):
    """Node memory that is reserved for the VM in addition to the guest's memory."""

    added_overhead: Quantity | None = None
    """Memory in addition to the computed overhead, for example `256Mi`; increases the memory request."""
    mem_lock: str | None = None
    """`Required` locks guest memory and overhead in RAM, which device DMA requires; `NotRequired` is the default."""


class Memory(Model):
    """The guest's memory."""

    guest: Quantity | None = None
    """Guest memory, for example `4Gi`; required unless an instance type or the memory request sets it."""
    max_guest: Quantity | None = None
    """Maximum memory of the running VM with hotplug; at least `guest`."""
    hugepages: Hugepages | None = None
    """Use huge pages of the node; conflicts with an instance type that sets huge pages."""
    reserved_overhead: ReservedOverhead | None = None
    """Adjusts the memory that is reserved in addition to the guest's memory."""


class ResourceRequirements(Model):
    """CPU and memory requests and limits; they conflict with an instance type that sets the sizes."""

    requests: dict[str, Quantity] | None = None
    """Requests: `cpu` in CPUs (`500m` is half a CPU), `memory` in bytes. Default: derived from the guest's size."""
    limits: dict[str, Quantity] | None = None
    """Limits for `cpu` and `memory`; not below the requests. No limits when absent."""
    overcommit_guest_overhead: bool | None = None
    """`true` omits QEMU's memory overhead from the request; the VM may then be killed. Default: false."""


class DomainSpec(Model, kw_only=True):
    """The virtual hardware of the guest and its node resources."""

    cpu: CPU | None = None
    """Virtual CPUs; most fields conflict with an instance type. Default: one vCPU."""
    memory: Memory | None = None
    """Guest memory; conflicts with an instance type that sets memory."""
    resources: ResourceRequirements | None = None
    """Resource requests and limits; omit them when an instance type is used."""
    machine: Machine | None = None
    """Machine type; set when the VM is created, so that upgrades do not change it."""
    chassis: Chassis | None = None
    """Chassis information in the guest's SMBIOS tables."""
    firmware: Firmware | None = None
    """Boot firmware and the identity that it reports."""
    features: Features | None = None
    """ACPI, Hyper-V enlightenments and other features; a preference sets features that are absent here."""
    clock: Clock | None = None
    """Hardware clock and timers."""
    devices: Devices
    """Disks, network interfaces and all other devices; required, at least as `{}`."""
    io_threads: DiskIOThreads | None = None
    """Settings of the disk I/O threads; conflicts with an instance type that has such settings."""
    io_threads_policy: str | None = None
    """How disks share I/O threads: `shared`, `auto` or `supplementalPool`. No I/O threads when absent."""
    launch_security: LaunchSecurity | None = None
    """Encryption of the guest, or isolation from its host; conflicts with `launchSecurity` of an instance type."""
    reboot_policy: str | None = None
    """`Reboot` (default) reboots the guest in place; `Terminate` recreates it, so that spec changes take effect."""


class CPUTopology(Model):
    """An exact layout of vCPUs; their number is the product of sockets, cores and threads."""

    sockets: UInt32 | None = None
    """CPU sockets, at least 1; 1 when absent."""
    cores: UInt32 | None = None
    """Cores in each socket, at least 1; 1 when absent."""
    threads: UInt32 | None = None
    """Hardware threads of each core, at least 1; 1 when absent."""
