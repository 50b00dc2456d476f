"""Network interfaces of a domain: structs and their XML."""

from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from virtshape.launcher.domain.devices.address import PciAddress, add_address, add_alias, add_boot_order, add_driver
from virtshape.launcher.domain.xml import add


class Subnet(Struct, frozen=True):
    """An address range for user-mode networking."""

    family: Literal["ipv4", "ipv6"]
    address: str
    prefix: int


class Forward(Struct, frozen=True):
    """
    A range of guest ports to forward.

    The XML does not contain forwards: ports are forwarded while the guest runs.
    """

    protocol: Literal["tcp", "udp"]
    first: int
    last: int

    @property
    def ports(self) -> range:
        """The port numbers."""
        return range(self.first, self.last + 1)


class Interface(Struct, frozen=True, kw_only=True):
    """A network interface."""

    name: str
    """Name of the interface, which is also the name of its network."""
    kind: Literal["user", "tap"] = "user"
    device: str | None = None
    """Tap device on the host."""
    bridge: str | None = None
    """Host bridge for the tap device. Not part of the XML: the device is attached before the guest starts."""
    subnets: tuple[Subnet, ...] = ()
    guest_address: str | None = None
    """IPv4 address that user-mode networking assigns to the guest."""
    restricted: bool = False
    """Whether user-mode networking blocks outgoing traffic. Not part of the XML, which has no element for it."""
    forwards: tuple[Forward, ...] = ()
    """Guest ports that may be forwarded; if empty, all ports may be forwarded."""
    model: str
    mac: str | None = None
    vhost: bool = False
    queues: int | None = None
    iommu: bool = False
    boot_order: int | None = None
    option_rom: bool = True
    """Whether the interface has an option ROM for network boot."""
    address: PciAddress | None = None
    acpi_index: int | None = None
    link_up: bool = True

    @property
    def netdev(self) -> str:
        """The name of the interface's backend in QEMU's monitor."""
        return f"hostua-{self.name}"


def render_interface(parent: Element, interface: Interface) -> None:
    """Append the XML element for a network interface."""
    element = add(parent, "interface", {"type": "ethernet" if interface.kind == "tap" else interface.kind})
    if interface.mac is not None:
        add(element, "mac", {"address": interface.mac})
    if interface.device is not None:
        add(element, "target", {"dev": interface.device, "managed": "no"})
    for subnet in interface.subnets:
        add(element, "ip", {"family": subnet.family, "address": subnet.address, "prefix": subnet.prefix})
    add(element, "model", {"type": interface.model})
    driver = {"name": "vhost" if interface.vhost else None, "queues": interface.queues}
    add_driver(element, driver, iommu=interface.iommu)
    if not interface.link_up:
        add(element, "link", {"state": "down"})
    add_boot_order(element, interface.boot_order)
    if not interface.option_rom:
        add(element, "rom", {"enabled": "no"})
    if interface.acpi_index is not None:
        add(element, "acpi", {"index": interface.acpi_index})
    add_alias(element, interface.name)
    add_address(element, interface.address)
