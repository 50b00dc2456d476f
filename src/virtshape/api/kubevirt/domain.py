from typing import Literal

from virtshape.api.kubevirt.devices import Devices
from virtshape.api.kubevirt.features import Clock, Features
from virtshape.api.model import Model, UInt32
from virtshape.api.quantity import Quantity


class Chassis(Model):
    asset: str | None = None
    manufacturer: str | None = None
    serial: str | None = None
    sku: str | None = None
    version: str | None = None


class CPUFeature(Model):
    name: str
    policy: str | None = None


class NUMAGuestMappingPassthrough(Model):
    pass


class NUMA(Model):
    guest_mapping_passthrough: NUMAGuestMappingPassthrough | None = None


class Realtime(Model):
    mask: str | None = None


class CPU(Model):
    guest: UInt32 | None = None
    cores: UInt32 | None = None
    dedicated_cpu_placement: bool | None = None
    features: list[CPUFeature] | None = None
    isolate_emulator_thread: bool | None = None
    max_sockets: UInt32 | None = None
    model: str | None = None
    numa: NUMA | None = None
    realtime: Realtime | None = None
    sockets: UInt32 | None = None
    threads: UInt32 | None = None


class ACPI(Model):
    msdm_name_ref: str | None = None
    slic_name_ref: str | None = None


class BIOS(Model):
    use_serial: bool | None = None


class EFI(Model):
    persistent: bool | None = None
    secure_boot: bool | None = None


class Bootloader(Model):
    bios: BIOS | None = None
    efi: EFI | None = None


class KernelBootContainer(Model):
    image: str
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    image_pull_secret: str | None = None
    initrd_path: str | None = None
    kernel_path: str | None = None


class KernelBoot(Model):
    container: KernelBootContainer | None = None
    kernel_args: str | None = None


class Firmware(Model):
    acpi: ACPI | None = None
    bootloader: Bootloader | None = None
    kernel_boot: KernelBoot | None = None
    serial: str | None = None
    uuid: str | None = None


class DiskIOThreads(Model):
    supplemental_pool_thread_count: UInt32 | None = None


class SEVAttestation(Model):
    pass


class SEVPolicy(Model):
    encrypted_state: bool | None = None


class SEV(Model):
    attestation: SEVAttestation | None = None
    dh_cert: str | None = None
    policy: SEVPolicy | None = None
    session: str | None = None


class SEVSNP(Model):
    pass


class TDX(Model):
    pass


class LaunchSecurity(Model):
    sev: SEV | None = None
    snp: SEVSNP | None = None
    tdx: TDX | None = None


class Machine(Model):
    type: str | None = None


class Hugepages(Model):
    page_size: str | None = None


class ReservedOverhead(Model):
    added_overhead: Quantity | None = None
    mem_lock: str | None = None


class Memory(Model):
    guest: Quantity | None = None
    hugepages: Hugepages | None = None
    max_guest: Quantity | None = None
    reserved_overhead: ReservedOverhead | None = None


class ResourceRequirements(Model):
    limits: dict[str, Quantity] | None = None
    overcommit_guest_overhead: bool | None = None
    requests: dict[str, Quantity] | None = None


class DomainSpec(Model):
    devices: Devices
    chassis: Chassis | None = None
    clock: Clock | None = None
    cpu: CPU | None = None
    features: Features | None = None
    firmware: Firmware | None = None
    io_threads: DiskIOThreads | None = None
    io_threads_policy: str | None = None
    launch_security: LaunchSecurity | None = None
    machine: Machine | None = None
    memory: Memory | None = None
    reboot_policy: str | None = None
    resources: ResourceRequirements | None = None


class CPUTopology(Model):
    cores: UInt32 | None = None
    sockets: UInt32 | None = None
    threads: UInt32 | None = None
