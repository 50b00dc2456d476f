"""
Where a device sits: on a PCI bus, on a drive controller, on the host's USB.

Structs, and how PCI addresses are read and written.
"""

from msgspec import Struct


class PciAddress(Struct, frozen=True):
    """A function of a PCI device, in the guest or on the host."""

    domain: int
    bus: int
    slot: int
    function: int

    def __str__(self) -> str:
        return f"{self.domain:04x}:{self.bus:02x}:{self.slot:02x}.{self.function}"


class DriveAddress(Struct, frozen=True):
    """A place on a SCSI controller of the guest."""

    controller: int = 0
    bus: int = 0
    unit: int = 0


class UsbAddress(Struct, frozen=True):
    """A device on the host's USB."""

    bus: int
    device: int


def parse_pci_address(text: str) -> PciAddress:
    """
    Read an address as it is usually written.

    >>> parse_pci_address("0000:81:01.7")
    PciAddress(domain=0, bus=129, slot=1, function=7)
    """
    domain, bus, rest = text.split(":")
    slot, function = rest.split(".")
    return PciAddress(int(domain, 16), int(bus, 16), int(slot, 16), int(function, 16))
