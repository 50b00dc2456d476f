"""
Structs for guest devices: disks, filesystems, GPUs, consoles, input and others.

A disk or filesystem refers to a volume by name. Admission checks that the volume exists.
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
    """Smallest unit that the guest can address, a power of two from 512 to 2097152 bytes."""
    physical: UInt32 | None = None
    """Smallest unit that can be written without reading it first, a power of two in bytes, not below `logical`."""
    discard_granularity: UInt32 | None = None
    """Smallest unit that the guest can discard, in bytes; a multiple of `logical`."""


class BlockSize(Model):
    """The block sizes that a disk reports to the guest: custom, or those of the volume."""

    custom: CustomBlockSize | None = None
    """The sizes to report. Mutually exclusive with `matchVolume`."""
    match_volume: FeatureState | None = None
    """Report the storage's own sizes, to avoid misaligned writes. Mutually exclusive with `custom`."""


class CDRomTarget(Model):
    """A disk that the guest sees as a CD-ROM drive."""

    bus: str | None = None
    """Bus of the drive: `sata`, `scsi` or `usb`. Default: the bus in the preference, or `sata` on amd64."""
    readonly: bool | None = None
    """Whether the medium is write-protected. Default: true."""
    tray: str | None = None
    """Position of the tray at start, `open` or `closed`. Default: `closed`."""


class DiskTarget(Model):
    """A disk that the guest sees as a hard disk."""

    bus: str | None = None
    """Bus of the disk: `virtio`, `sata`, `scsi` or `usb`. Default: the bus in the preference, or `sata` on amd64."""
    pci_address: str | None = None
    """Fixed PCI address in the guest, such as `0000:81:01.1`; only for the bus `virtio`."""
    readonly: bool | None = None
    """Whether the disk is read-only. Default: false."""


class LunTarget(Model):
    """A disk that passes the guest's SCSI commands on to the storage."""

    bus: str | None = None
    """Bus of the LUN: `scsi`, `sata` or `virtio`. Default: the bus in the preference, or `sata` on amd64."""
    readonly: bool | None = None
    """Whether the disk is read-only. Default: false."""
    reservation: bool | None = None
    """`true` enables SCSI persistent reservations, for clusters that share the LUN. Default: false."""


class Disk(Model):
    """A disk, CD-ROM or LUN of the guest; at most one of `disk` (the default), `cdrom` and `lun` may be set."""

    name: str
    """Name of the volume that provides this disk's content."""
    disk: DiskTarget | None = None
    """Attach the volume as a hard disk. Mutually exclusive with `cdrom` and `lun`."""
    cdrom: CDRomTarget | None = None
    """Attach the volume as a CD-ROM. Mutually exclusive with `disk` and `lun`."""
    lun: LunTarget | None = None
    """Attach the volume as a SCSI LUN; needs block storage. Mutually exclusive with `disk` and `cdrom`."""
    boot_order: UInt32 | None = None
    """Boot order, from 1, unique in the VM. If any device has a boot order, the VM only boots from such devices."""
    serial: str | None = None
    """Serial number of the drive, which is part of its name in `/dev/disk/by-id` in a Linux guest."""
    cache: str | None = None
    """Host caching: `none`, `writethrough` or `writeback`. Default: `none` if the storage supports direct I/O."""
    io: str | None = None
    """How QEMU submits I/O: `native`, `threads` or `default`; depends on the kind of storage when absent."""
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
    """Shares the volume over virtiofs (no settings)."""


class Filesystem(Model):
    """A directory shared with the guest, instead of a disk."""

    name: str
    """Name of the volume to share, which is also the tag by which the guest mounts it."""
    virtiofs: FilesystemVirtiofs
    """`{}` shares the volume over virtiofs, for which the guest needs a driver."""


class VGPUDisplayOptions(Model):
    """The display of a virtual GPU."""

    enabled: bool | None = None
    """Whether the virtual GPU provides the VM's display. Default: true."""
    ram_fb: FeatureState | None = field(default=None, name="ramFB")
    """A simple framebuffer that shows the boot process until the guest's GPU driver is loaded. Default: on."""


class VGPUOptions(Model):
    """Settings of a virtual GPU."""

    display: VGPUDisplayOptions | None = None
    """Display settings of the virtual GPU."""


class GPU(Model):
    """A GPU or vGPU that is passed through to the guest."""

    name: str
    """Name of this device within the VM."""
    device_name: str | None = None
    """Name of the node's resource, for example `nvidia.com/TU104GL_Tesla_T4`. Mutually exclusive with `claimName`."""
    claim_name: str | None = None
    """Name of the entry in `resourceClaims` that provides the GPU. Mutually exclusive with `deviceName`."""
    request_name: str | None = None
    """Name of the request in the claim that provides this GPU; used with `claimName`."""
    virtual_gpu_options: VGPUOptions | None = field(default=None, name="virtualGPUOptions")
    """Display settings, for virtual GPUs only."""
    tag: str | None = None
    """Tag of this GPU in the config drive's metadata."""


class HostDevice(Model):
    """A PCI, USB or mediated device of the node that is passed through to the guest."""

    name: str
    """Name of this device within the VM."""
    device_name: str | None = None
    """Name of the node's resource, for example `intel.com/qat`. Mutually exclusive with `claimName`."""
    claim_name: str | None = None
    """Name of the entry in `resourceClaims` that provides the device. Mutually exclusive with `deviceName`."""
    request_name: str | None = None
    """Name of the request in the claim that provides this device; used with `claimName`."""
    tag: str | None = None
    """Tag of this device in the config drive's metadata."""


class Input(Model):
    """An input device of the guest."""

    name: str
    """Name of this device within the VM."""
    type: str
    """Type of device; must be `tablet`, a pointer that follows the viewer's mouse."""
    bus: str | None = None
    """Bus of the device: `usb` or `virtio`. Default: the bus in the preference, or `usb`."""


class PanicDevice(Model):
    """A panic device, which reports a crash of the guest to the host."""

    model: str | None = None
    """Model of the device: `isa`, `hyperv` (Windows) or `pvpanic`; depends on the architecture when absent."""


class Rng(Model):
    """A virtio random number generator fed by the host (no settings)."""


class SoundDevice(Model):
    """An emulated sound card."""

    name: str
    """Name of this device within the VM."""
    model: str | None = None
    """Model of the card: `ich9` or `ac97`. Default: the model in the preference, or `ich9`."""


class TPMDevice(Model):
    """An emulated TPM 2.0, which Windows 11 requires."""

    enabled: bool | None = None
    """`false` removes the TPM even if the preference has one. Default: true."""
    persistent: bool | None = None
    """`true` keeps the TPM's keys when the VM is stopped, for disk encryption bound to the TPM. Default: false."""


class VideoDevice(Model):
    """The emulated graphics card."""

    type: str | None = None
    """Type of the card: `vga`, `bochs`, `virtio` or `ramfb`. Default on amd64: `vga` with BIOS, `bochs` with EFI."""


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
    """PCI model for amd64. Mutually exclusive with `diag288`."""
    diag288: Diag288Watchdog | None = None
    """Model for s390x. Mutually exclusive with `i6300esb`."""


class Devices(Model):
    """The devices of the guest; unset fields are taken from the preference, then from the defaults described here."""

    disks: list[Disk] | None = None
    """Disks, CD-ROMs and LUNs; a volume that no disk or filesystem refers to gets a plain disk."""
    interfaces: list[Interface] | None = None
    """Network interfaces, one for each entry in `networks`; one on the pod network when both lists are absent."""
    filesystems: list[Filesystem] | None = None
    """Volumes shared with the guest as directories."""
    gpus: list[GPU] | None = None
    """GPUs to pass through; conflicts with an instance type that has GPUs."""
    host_devices: list[HostDevice] | None = None
    """Other devices of the node to pass through; conflicts with an instance type that has host devices."""
    inputs: list[Input] | None = None
    """Input devices in addition to those that the machine type has."""
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
    """Whether the VM has a graphics card, which VNC requires. Default: true."""
    autoattach_input_device: bool | None = None
    """Whether the VM has a tablet even if `inputs` has none; recommended for VNC. Default: false."""
    autoattach_mem_balloon: bool | None = None
    """Whether the VM has a memory balloon, which also reports the guest's memory use. Default: true."""
    autoattach_pod_interface: bool | None = None
    """Whether the VM has an interface on the pod network when no networks are listed. Default: true."""
    autoattach_serial_console: bool | None = None
    """Whether the VM has a serial console, which `virtctl console` requires. Default: true."""
    log_serial_console: bool | None = None
    """Whether the output of the serial console is logged; the cluster's configuration decides if absent."""
    autoattach_vsock: bool | None = field(default=None, name="autoattachVSOCK")
    """Whether the VM has a VSOCK device, for communication with the host without a network. Default: false."""
    block_multi_queue: bool | None = None
    """Whether each virtio disk has one queue per vCPU, for parallel I/O. Default: false."""
    network_interface_multiqueue: bool | None = None
    """Whether each virtio interface has one queue per vCPU. Default: false."""
    use_virtio_transitional: bool | None = None
    """Whether the old virtio version 0.9 is supported too, for guests such as CentOS 6. Default: false."""
    disable_hotplug: bool | None = None
    """`true` disables hotplug of disks. Default: false."""
