from msgspec import field

from virtshape.api.kubevirt.features import FeatureState
from virtshape.api.kubevirt.network import Interface
from virtshape.api.model import Model, UInt32


class ClientPassthroughDevices(Model):
    pass


class CustomBlockSize(Model):
    discard_granularity: UInt32 | None = None
    logical: UInt32 | None = None
    physical: UInt32 | None = None


class BlockSize(Model):
    custom: CustomBlockSize | None = None
    match_volume: FeatureState | None = None


class CDRomTarget(Model):
    bus: str | None = None
    readonly: bool | None = None
    tray: str | None = None


class DiskTarget(Model):
    bus: str | None = None
    pci_address: str | None = None
    readonly: bool | None = None


class LunTarget(Model):
    bus: str | None = None
    readonly: bool | None = None
    reservation: bool | None = None


class Disk(Model):
    name: str
    block_size: BlockSize | None = None
    boot_order: UInt32 | None = None
    cache: str | None = None
    cdrom: CDRomTarget | None = None
    changed_block_tracking: bool | None = None
    dedicated_io_thread: bool | None = field(default=None, name="dedicatedIOThread")
    disk: DiskTarget | None = None
    error_policy: str | None = None
    io: str | None = None
    lun: LunTarget | None = None
    serial: str | None = None
    shareable: bool | None = None
    tag: str | None = None


class DownwardMetrics(Model):
    pass


class FilesystemVirtiofs(Model):
    pass


class Filesystem(Model):
    name: str
    virtiofs: FilesystemVirtiofs


class VGPUDisplayOptions(Model):
    enabled: bool | None = None
    ram_fb: FeatureState | None = field(default=None, name="ramFB")


class VGPUOptions(Model):
    display: VGPUDisplayOptions | None = None


class GPU(Model):
    name: str
    claim_name: str | None = None
    device_name: str | None = None
    request_name: str | None = None
    tag: str | None = None
    virtual_gpu_options: VGPUOptions | None = field(default=None, name="virtualGPUOptions")


class HostDevice(Model):
    name: str
    claim_name: str | None = None
    device_name: str | None = None
    request_name: str | None = None
    tag: str | None = None


class Input(Model):
    name: str
    type: str
    bus: str | None = None


class PanicDevice(Model):
    model: str | None = None


class Rng(Model):
    pass


class SoundDevice(Model):
    name: str
    model: str | None = None


class TPMDevice(Model):
    enabled: bool | None = None
    persistent: bool | None = None


class VideoDevice(Model):
    type: str | None = None


class Diag288Watchdog(Model):
    action: str | None = None


class I6300ESBWatchdog(Model):
    action: str | None = None


class Watchdog(Model):
    name: str
    diag288: Diag288Watchdog | None = None
    i6300esb: I6300ESBWatchdog | None = None


class Devices(Model):
    autoattach_graphics_device: bool | None = None
    autoattach_input_device: bool | None = None
    autoattach_mem_balloon: bool | None = None
    autoattach_pod_interface: bool | None = None
    autoattach_serial_console: bool | None = None
    autoattach_vsock: bool | None = field(default=None, name="autoattachVSOCK")
    block_multi_queue: bool | None = None
    client_passthrough: ClientPassthroughDevices | None = None
    disable_hotplug: bool | None = None
    disks: list[Disk] | None = None
    downward_metrics: DownwardMetrics | None = None
    filesystems: list[Filesystem] | None = None
    gpus: list[GPU] | None = None
    host_devices: list[HostDevice] | None = None
    inputs: list[Input] | None = None
    interfaces: list[Interface] | None = None
    log_serial_console: bool | None = None
    network_interface_multiqueue: bool | None = None
    panic_devices: list[PanicDevice] | None = None
    rng: Rng | None = None
    sound: SoundDevice | None = None
    tpm: TPMDevice | None = None
    use_virtio_transitional: bool | None = None
    video: VideoDevice | None = None
    watchdog: Watchdog | None = None
