"""
Where a device sits, and by which name it is known, as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.address import DriveAddress, PciAddress
from virtshape.launcher.render.writing import add


def add_address(parent: Element, address: PciAddress | DriveAddress | None) -> None:
    """Say where in the guest a device sits, if that is decided."""
    if isinstance(address, DriveAddress):
        place = {"controller": address.controller, "bus": address.bus, "target": 0, "unit": address.unit}
        add(parent, "address", {"type": "drive", **place})
    elif address is not None:
        add(parent, "address", {"type": "pci", **write_pci(address)})


def write_pci(address: PciAddress) -> dict[str, str]:
    """The attributes of a PCI address."""
    return {
        "domain": f"0x{address.domain:04x}",
        "bus": f"0x{address.bus:02x}",
        "slot": f"0x{address.slot:02x}",
        "function": f"0x{address.function:x}",
    }


def add_alias(parent: Element, name: str) -> None:
    """Give a device a name by which it is found again; libvirt wants its beginning to be so."""
    add(parent, "alias", {"name": f"ua-{name}"})


def add_boot_order(parent: Element, order: int | None) -> None:
    """Say when a device is tried at boot, if that is decided."""
    if order is not None:
        add(parent, "boot", {"order": order})
