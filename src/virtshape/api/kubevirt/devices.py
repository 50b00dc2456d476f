"""
Structs of guest devices: disks, filesystems, GPUs, consoles, input and others.

A disk or filesystem refers to a volume by name; admission checks that it exists.
"""

import re
from typing import Final

from msgspec import field

from virtshape.api.kubevirt.features import FeatureState
from virtshape.api.kubevirt.network import Interface
from virtshape.api.model import Model, UInt32

PCI_ADDRESS: Final = re.compile(r"[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


class ClientPassthroughDevices(Model):
    """Allows a client to redirect its USB devices to the guest (no settings)."""


class CustomBlockSize(Model):
    """Custom block sizes of a disk, in bytes."""

    logical: UInt32 | None = None
    """Smallest unit the guest can address, a power of two from 512 to 2097152 bytes."""
    physical: UInt32 | None = None
    """Smallest unit written without a read first, a power of two in bytes and not below `logical`."""
    discard_granularity: UInt32 | None = None
    """Smallest unit that the guest can discard, in bytes; a multiple of `logical`."""


class BlockSize(Model):
    """The block sizes that a disk reports to the guest: custom, or those of the volume."""

    custom: CustomBlockSize | None = None
    """Report these sizes. Excludes `matchVolume`."""
    match_volume: FeatureState | None = None
    """Report the sizes of the storage behind the disk, avoiding misaligned writes. Excludes `custom`."""


class CDRomTarget(Model):
    """A disk that the guest sees as a CD-ROM drive."""

    bus: str | None = None
    """Bus of the drive: `sata`, `scsi` or `virtio`. Default: that of the preference, or `sata`."""
    readonly: bool | None = None
    """Whether the medium is write-protected. Default: true."""
    tray: str | None = None
    """Position of the tray at start, `open` or `closed`. Default: `closed`."""


class DiskTarget(Model):
    """A disk that the guest sees as a hard disk."""

    bus: str | None = None
    """Bus of the disk: `virtio`, `sata`, `scsi` or `usb`. Default: that of the preference, or `sata`."""
    pci_address: str | None = None
    """Fixed PCI address in the guest, such as `0000:81:01.10`; only for the bus `virtio`."""
    readonly: bool | None = None
    """Whether the disk is read-only. Default: false."""


class LunTarget(Model):
    """A disk that passes the guest's SCSI commands on to the storage."""

    bus: str | None = None
    """Bus of the LUN: `scsi`, `sata` or `virtio`. Default: that of the preference, or `sata`."""
    readonly: bool | None = None
    """Whether the disk is read-only. Default: false."""
    reservation: bool | None = None
    """`true` supports SCSI persistent reservations, for clusters that share the LUN. Default: false."""


class Disk(Model):
    """A disk, CD-ROM or LUN of the guest; at most one of `disk`, `cdrom` and `lun`, a disk if none is set."""

    name: str
    """Name of the volume behind this disk."""
    disk: DiskTarget | None = None
    """Attach the volume as a hard disk. Excludes `cdrom` and `lun`."""
    cdrom: CDRomTarget | None = None
    """Attach the volume as a CD-ROM. Excludes `disk` and `lun`."""
    lun: LunTarget | None = None
    """Attach the volume as a SCSI LUN; needs block storage. Excludes `disk` and `cdrom`."""
    boot_order: UInt32 | None = None
    """Boot order, from 1, unique in the VM; if any device has one, devices without one are not booted from."""
    serial: str | None = None
    """Serial number of the drive, which names it under `/dev/disk/by-id` in a Linux guest."""
    cache: str | None = None
    """Host caching: `none`, `writethrough` or `writeback`. Default: `none` if the storage supports direct I/O."""
    io: str | None = None
    """How QEMU submits I/O: `native`, `threads` or `default`; chosen by the kind of storage when absent."""
    dedicated_io_thread: bool | None = field(default=None, name="dedicatedIOThread")
    """`true` gives this disk a dedicated I/O thread; only for the bus `virtio`. Default: false."""
    block_size: BlockSize | None = None
    """Block sizes to report to the guest; 512 bytes when absent."""
    error_policy: str | None = None
    """Action on an I/O error: `stop` pauses the VM (default), `report`, `ignore` or `enospace`."""
    shareable: bool | None = None
    """`true` allows several VMs to write to the volume; the file system must support that. Default: false."""
    changed_block_tracking: bool | None = None
    """`true` records which blocks change, for incremental backups. Default: false."""
    tag: str | None = None
    """Tag of this disk in the config drive's metadata."""


class DownwardMetrics(Model):
    """Host metrics for the guest through a virtio-serial port (no settings)."""


class FilesystemVirtiofs(Model):
    """Sharing over virtiofs (no settings)."""


class Filesystem(Model):
    """A directory shared with the guest, instead of a disk."""

    name: str
    """Name of the volume to share; also the tag by which the guest mounts it."""
    virtiofs: FilesystemVirtiofs
    """`{}`: share over virtiofs, for which the guest needs a driver."""


class VGPUDisplayOptions(Model):
    """The display of a virtual GPU."""

    enabled: bool | None = None
    """Whether the virtual GPU provides the VM's display. Default: true."""
    ram_fb: FeatureState | None = field(default=None, name="ramFB")
    """A simple framebuffer that shows the boot until the guest's GPU driver is loaded. Default: on."""


class VGPUOptions(Model):
    """Settings of a virtual GPU."""

    display: VGPUDisplayOptions | None = None
    """Display settings of the virtual GPU."""


class GPU(Model):
    """A GPU or vGPU that is passed through to the guest."""

    name: str
    """Name of this device within the VM."""
    device_name: str | None = None
    """Name of the node's resource, for example `nvidia.com/TU104GL_Tesla_T4`. Excludes `claimName`."""
    claim_name: str | None = None
    """Entry of the VM's `resourceClaims` to take the GPU from. Excludes `deviceName`."""
    request_name: str | None = None
    """Request of the claim that provides this GPU; used with `claimName`."""
    virtual_gpu_options: VGPUOptions | None = field(default=None, name="virtualGPUOptions")
    """Display settings, for virtual GPUs only."""
    tag: str | None = None
    """Tag of this GPU in the config drive's metadata."""


class HostDevice(Model):
    """A PCI, USB or mediated device of the node that is passed through to the guest."""

    name: str
    """Name of this device within the VM."""
    device_name: str | None = None
    """Name of the node's resource, for example `intel.com/qat`. Excludes `claimName`."""
    claim_name: str | None = None
    """Entry of the VM's `resourceClaims` to take the device from. Excludes `deviceName`."""
    request_name: str | None = None
    """Request of the claim that provides this device; used with `claimName`."""
    tag: str | None = None
    """Tag of this device in the config drive's metadata."""


class Input(Model):
    """An input device of the guest."""

    name: str
    """Name of this device within the VM."""
    type: str
    """Type of device; only `tablet`, a pointer that follows the viewer's mouse."""
    bus: str | None = None
    """Bus of the device: `usb` or `virtio`. Default: that of the preference, or `usb`."""


class PanicDevice(Model):
    """A panic device, which reports a crash of the guest to the host."""

    model: str | None = None
    """`isa`, `hyperv` (Windows) or `pvpanic`; chosen by architecture when absent."""


class Rng(Model):
    """A virtio random number generator fed by the host (no settings)."""


class SoundDevice(Model):
    """An emulated sound card."""

    name: str
    """Name of this device within the VM."""
    model: str | None = None
    """Model of the card: `ich9` or `ac97`. Default: that of the preference, or `ich9`."""


class TPMDevice(Model):
    """An emulated TPM 2.0, which Windows 11 requires."""

    enabled: bool | None = None
    """`false` removes the TPM even if the preference has one. Default: true."""
    persistent: bool | None = None
    """`true` keeps the TPM's keys when the VM is stopped, as disk encryption bound to the TPM needs. Default: false."""


class VideoDevice(Model):
    """The emulated graphics card."""

    type: str | None = None
    """`vga`, `bochs`, `virtio` or `ramfb`. Default on amd64: `vga` for BIOS guests, `bochs` for EFI guests."""


class Diag288Watchdog(Model):
    """The watchdog of s390x guests."""

    action: str | None = None
    """Action if the guest does not respond: `reset` (default), `poweroff` or `shutdown`."""


class I6300ESBWatchdog(Model):
    """An emulated Intel PCI watchdog, for x86 guests."""

    action: str | None = None
    """Action if the guest does not respond: `reset` (default), `poweroff` or `shutdown`."""


class Watchdog(Model):
    """A watchdog that acts if the guest does not reset it in time; exactly one model must be set."""

    name: str
    """Name of this device within the VM."""
    i6300esb: I6300ESBWatchdog | None = None
    """PCI model for amd64. Excludes `diag288`."""
    diag288: Diag288Watchdog | None = None
    """Model for s390x. Excludes `i6300esb`."""


class Devices(Model):
    """The devices of the guest; unset fields are taken from the preference, then from the defaults described here."""

    disks: list[Disk] | None = None
    """Disks, CD-ROMs and LUNs; a volume that no disk or filesystem refers to gets a plain disk."""
    interfaces: list[Interface] | None = None
    """Network interfaces, one for each entry of `networks`; one on the pod network when both lists are absent."""
    filesystems: list[Filesystem] | None = None
    """Volumes shared with the guest as directories."""
    gpus: list[GPU] | None = None
    """GPUs to pass through; conflicts with an instance type that has GPUs."""
    host_devices: list[HostDevice] | None = None
    """Other devices of the node to pass through; conflicts with an instance type that has host devices."""
    inputs: list[Input] | None = None
    """Input devices in addition to those of the machine type."""
    panic_devices: list[PanicDevice] | None = None
    """Devices that report a guest's crash to the host."""
    video: VideoDevice | None = None
    """Model of the graphics card; needs `autoattachGraphicsDevice`."""
    sound: SoundDevice | None = None
    """A sound card; none when absent."""
    rng: Rng | None = None
    """`{}` gives the guest random numbers from the host, so that it boots without waiting for entropy."""
    tpm: TPMDevice | None = None
    """A TPM; none when absent, unless the preference adds one."""
    watchdog: Watchdog | None = None
    """A watchdog; none when absent."""
    client_passthrough: ClientPassthroughDevices | None = None
    """`{}` allows `virtctl usbredir` to redirect a local USB device to the guest."""
    downward_metrics: DownwardMetrics | None = None
    """`{}` provides host metrics to the guest through a virtio-serial port."""
    autoattach_graphics_device: bool | None = None
    """Attach a graphics card, which VNC requires. Default: true."""
    autoattach_input_device: bool | None = None
    """Attach a tablet if `inputs` has none; recommended for VNC. Default: false."""
    autoattach_mem_balloon: bool | None = None
    """Attach a memory balloon, which also reports the guest's memory use. Default: true."""
    autoattach_pod_interface: bool | None = None
    """Attach an interface on the pod network when no networks are listed. Default: true."""
    autoattach_serial_console: bool | None = None
    """Attach a serial console, which `virtctl console` requires. Default: true."""
    log_serial_console: bool | None = None
    """Log the output of the serial console; the cluster's configuration decides if absent."""
    autoattach_vsock: bool | None = field(default=None, name="autoattachVSOCK")
    """Attach a VSOCK device, for communication between host and guest without a network. Default: false."""
    block_multi_queue: bool | None = None
    """Give each virtio disk one queue per vCPU, for parallel I/O. Default: false."""
    network_interface_multiqueue: bool | None = None
    """Give each virtio interface one queue per vCPU. Default: false."""
    use_virtio_transitional: bool | None = None
    """Also support the old virtio version 0.9, for guests such as CentOS 6. Default: false."""
    disable_hotplug: bool | None = None
    """`true` disables hotplug of disks. Default: false."""
