"""Host devices passed through to a domain: structs and their XML."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import (
    PciAddress,
    UsbAddress,
    add_address,
    add_alias,
    add_boot_order,
    write_pci,
)
from virtshape.launcher.domain.xml import add


class PciHostDevice(Struct, frozen=True, kw_only=True):
    """A PCI device or function of the host."""

    name: str
    source: PciAddress
    address: PciAddress | None = None
    """Address in the guest."""
    boot_order: int | None = None


class MediatedHostDevice(Struct, frozen=True, kw_only=True):
    """A mediated device, such as a virtual GPU."""

    name: str
    uuid: str
    display: bool = False
    """Whether the device is the guest's display."""
    ramfb: bool = False
    """Whether the device also shows the guest's boot, before the guest loads the driver."""


class UsbHostDevice(Struct, frozen=True, kw_only=True):
    """A USB device of the host."""

    name: str
    source: UsbAddress


HostDevice = PciHostDevice | MediatedHostDevice | UsbHostDevice


def render_host_device(parent: Element, device: HostDevice) -> None:
    """Append the XML element for a host device."""
    match device:
        case PciHostDevice():
            _render_pci(parent, device)
        case MediatedHostDevice():
            _render_mediated(parent, device)
        case UsbHostDevice():
            _render_usb(parent, device)


def _render_pci(parent: Element, device: PciHostDevice) -> None:
    element = add(parent, "hostdev", {"mode": "subsystem", "type": "pci", "managed": "no"})
    add(add(element, "source"), "address", write_pci(device.source))
    add_boot_order(element, device.boot_order)
    add_alias(element, device.name)
    add_address(element, device.address)


def _render_mediated(parent: Element, device: MediatedHostDevice) -> None:
    identity = {"mode": "subsystem", "type": "mdev", "managed": "no", "model": "vfio-pci"}
    shown = {"display": "on" if device.display else None, "ramfb": "on" if device.ramfb else None}
    element = add(parent, "hostdev", {**identity, **shown})
    add(add(element, "source"), "address", {"uuid": device.uuid})
    add_alias(element, device.name)


def _render_usb(parent: Element, device: UsbHostDevice) -> None:
    element = add(parent, "hostdev", {"mode": "subsystem", "type": "usb", "managed": "no"})
    add(add(element, "source"), "address", {"bus": device.source.bus, "device": device.source.device})
    add_alias(element, device.name)
