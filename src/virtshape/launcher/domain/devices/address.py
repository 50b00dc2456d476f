"""Device addresses (PCI, drive, USB) and the XML elements that most devices share."""

from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.xml import Attributes, add


class PciAddress(Struct, frozen=True):
    """A PCI function, in the guest or on the host."""

    domain: int
    bus: int
    slot: int
    function: int

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.slot:02x}.{self.function}"


class DriveAddress(Struct, frozen=True):
    """A unit on a SCSI controller of the guest."""

    controller: int = 0
    bus: int = 0
    unit: int = 0


class UsbAddress(Struct, frozen=True):
    """A USB device of the host."""

    bus: int
    device: int


def parse_pci_address(text: str) -> PciAddress:
    """
    Parse a PCI address.

    >>> parse_pci_address("0000:81:01.7")
    PciAddress(domain=0, bus=129, slot=1, function=7)
    """
    domain, bus, rest = text.split(":")
    slot, function = rest.split(".")
    return PciAddress(int(domain, 16), int(bus, 16), int(slot, 16), int(function, 16))


def add_address(parent: Element, address: PciAddress | DriveAddress | None) -> None:
    """Append the guest address of a device, if it has one."""
    if isinstance(address, DriveAddress):
        place = {"controller": address.controller, "bus": address.bus, "target": 0, "unit": address.unit}
        add(parent, "address", {"type": "drive", **place})
    elif address is not None:
        add(parent, "address", {"type": "pci", **write_pci(address)})


def write_pci(address: PciAddress) -> dict[str, str]:
    """Return the XML attributes of a PCI address."""
    return {
        "domain": f"0x{address.domain:04x}",
        "bus": f"0x{address.bus:02x}",
        "slot": f"0x{address.slot:02x}",
        "function": f"0x{address.function:x}",
    }


def add_alias(parent: Element, name: str) -> None:
    """Append the device's alias; libvirt requires the prefix `ua-`."""
    add(parent, "alias", {"name": f"ua-{name}"})


def add_boot_order(parent: Element, order: int | None) -> None:
    """Append the boot order of a device, if it has one."""
    if order is not None:
        add(parent, "boot", {"order": order})


def add_driver(parent: Element, attributes: Attributes, *, iommu: bool) -> None:
    """Append the XML element `driver`, unless it would be empty."""
    given = {**attributes, "iommu": "on" if iommu else None}
    if any(value is not None for value in given.values()):
        add(parent, "driver", given)
