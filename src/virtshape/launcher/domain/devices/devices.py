"""All devices of a domain and their controllers: the structs and their XML."""

from collections.abc import Callable
from typing import Literal, TypeVar
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import add_driver
from virtshape.launcher.domain.devices.console import (
    Channel,
    Redirection,
    Serial,
    render_channel,
    render_redirection,
    render_serial,
)
from virtshape.launcher.domain.devices.disk import Disk, Filesystem, render_disk, render_filesystem
from virtshape.launcher.domain.devices.graphics import (
    Graphics,
    Input,
    Sound,
    Video,
    render_graphics,
    render_input,
    render_sound,
    render_video,
)
from virtshape.launcher.domain.devices.hostdevice import HostDevice, render_host_device
from virtshape.launcher.domain.devices.interface import Interface, render_interface
from virtshape.launcher.domain.devices.platform import (
    Balloon,
    Panic,
    Rng,
    Tpm,
    Vsock,
    Watchdog,
    render_balloon,
    render_panic,
    render_rng,
    render_tpm,
    render_vsock,
    render_watchdog,
)
from virtshape.launcher.domain.xml import add

_Device = TypeVar("_Device")


class Controller(Struct, frozen=True, kw_only=True):
    """A controller of the guest."""

    kind: Literal["pci", "scsi", "usb", "virtio-serial"]
    model: str
    index: int = 0
    queues: int | None = None
    io_thread: int | None = None
    iommu: bool = False


def render_controller(parent: Element, controller: Controller) -> None:
    """Append the XML element for a controller."""
    identity = {"type": controller.kind, "index": controller.index, "model": controller.model}
    element = add(parent, "controller", identity)
    driver = {"queues": controller.queues, "iothread": controller.io_thread}
    add_driver(element, driver, iommu=controller.iommu)


class Devices(Struct, frozen=True, kw_only=True):
    """All devices of a domain."""

    emulator: str
    """Path of the QEMU binary."""
    disks: tuple[Disk, ...] = ()
    controllers: tuple[Controller, ...] = ()
    filesystems: tuple[Filesystem, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    serials: tuple[Serial, ...] = ()
    channels: tuple[Channel, ...] = ()
    inputs: tuple[Input, ...] = ()
    tpm: Tpm | None = None
    graphics: Graphics | None = None
    sound: Sound | None = None
    video: Video | None = None
    host_devices: tuple[HostDevice, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    watchdog: Watchdog | None = None
    balloon: Balloon | None = None
    rng: Rng | None = None
    panics: tuple[Panic, ...] = ()
    vsock: Vsock | None = None


def render_devices(devices: Devices) -> Element:
    """Return the XML element `devices`."""
    root = Element("devices")
    add(root, "emulator", text=devices.emulator)
    _render_each(root, render_disk, devices.disks)
    _render_each(root, render_controller, devices.controllers)
    _render_each(root, render_filesystem, devices.filesystems)
    _render_each(root, render_interface, devices.interfaces)
    for port, serial in enumerate(devices.serials):
        render_serial(root, serial, port)
    _render_each(root, render_channel, devices.channels)
    _render_each(root, render_input, devices.inputs)
    _render_if_given(root, render_tpm, devices.tpm)
    _render_if_given(root, render_graphics, devices.graphics)
    _render_if_given(root, render_sound, devices.sound)
    _render_if_given(root, render_video, devices.video)
    _render_each(root, render_host_device, devices.host_devices)
    _render_each(root, render_redirection, devices.redirections)
    _render_if_given(root, render_watchdog, devices.watchdog)
    _render_if_given(root, render_balloon, devices.balloon)
    _render_if_given(root, render_rng, devices.rng)
    _render_each(root, render_panic, devices.panics)
    _render_if_given(root, render_vsock, devices.vsock)
    return root


def _render_each(root: Element, render: Callable[[Element, _Device], None], devices: tuple[_Device, ...]) -> None:
    for device in devices:
        render(root, device)


def _render_if_given(root: Element, render: Callable[[Element, _Device], None], device: _Device | None) -> None:
    if device is not None:
        render(root, device)
