"""
Devices of the host that are handed to a domain.

Structs only.
"""

from msgspec import Struct

from virtshape.launcher.domain.devices.address import PciAddress, UsbAddress


class PciHostDevice(Struct, frozen=True, kw_only=True):
    """A PCI device, or a function of one."""

    name: str
    source: PciAddress
    address: PciAddress | None = None
    """Where the guest sees it."""
    boot_order: int | None = None


class MediatedHostDevice(Struct, frozen=True, kw_only=True):
    """A slice of a PCI device, such as a virtual GPU."""

    name: str
    uuid: str
    display: bool = False
    """Whether its picture is the guest's screen."""
    ramfb: bool = False
    """Whether the boot is shown on it too, before the guest's driver takes over."""


class UsbHostDevice(Struct, frozen=True, kw_only=True):
    """A USB device."""

    name: str
    source: UsbAddress


HostDevice = PciHostDevice | MediatedHostDevice | UsbHostDevice
