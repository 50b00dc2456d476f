"""
Devices of the host that are handed through, as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.hostdevice import HostDevice, MediatedHostDevice, PciHostDevice, UsbHostDevice
from virtshape.launcher.render.devices.address import add_address, add_alias, add_boot_order, write_pci
from virtshape.launcher.render.writing import add


def render_host_device(parent: Element, device: HostDevice) -> None:
    """Write one device of the host."""
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
