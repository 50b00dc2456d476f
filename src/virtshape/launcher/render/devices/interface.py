"""
Network interfaces as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.interface import Interface
from virtshape.launcher.render.devices.address import add_address, add_alias, add_boot_order
from virtshape.launcher.render.devices.driver import add_driver
from virtshape.launcher.render.writing import add


def render_interface(parent: Element, interface: Interface) -> None:
    """Write one interface."""
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
