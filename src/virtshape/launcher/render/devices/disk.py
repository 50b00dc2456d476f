"""
Disks, cdroms and LUNs as XML.

Pure; writes what is there and decides nothing.
"""

from xml.etree.ElementTree import Element

from virtshape.launcher.domain.devices.disk import Disk
from virtshape.launcher.render.devices.address import add_address, add_alias, add_boot_order
from virtshape.launcher.render.devices.driver import add_driver
from virtshape.launcher.render.writing import add


def render_disk(parent: Element, disk: Disk) -> None:
    """Write one drive."""
    kind = disk.source.kind if disk.source else "file"
    element = add(parent, "disk", {"type": kind, "device": disk.device, "model": disk.model})
    _add_driver(element, disk)
    _add_source(element, disk)
    add(element, "target", {"dev": disk.target, "bus": disk.bus, "tray": disk.tray})
    if disk.block_sizes is not None:
        sizes = {
            "logical_block_size": disk.block_sizes.logical,
            "physical_block_size": disk.block_sizes.physical,
            "discard_granularity": disk.block_sizes.discard_granularity,
        }
        add(element, "blockio", sizes)
    if disk.read_only:
        add(element, "readonly")
    if disk.shareable:
        add(element, "shareable")
    if disk.serial is not None:
        add(element, "serial", text=disk.serial)
    add_boot_order(element, disk.boot_order)
    add_alias(element, disk.name)
    add_address(element, disk.address)


def _add_driver(element: Element, disk: Disk) -> None:
    driver = {
        "name": "qemu",
        "type": disk.source.format if disk.source else "raw",
        "cache": disk.cache,
        "error_policy": disk.error_policy,
        "io": disk.io,
        "discard": "unmap" if disk.discard else None,
        "iothread": disk.io_thread,
        "queues": disk.queues,
    }
    add_driver(element, driver, iommu=disk.iommu)


def _add_source(element: Element, disk: Disk) -> None:
    if disk.source is None:
        return
    source = add(element, "source", {"dev" if disk.source.kind == "block" else "file": disk.source.path})
    if disk.reservations is not None:
        reservations = add(source, "reservations", {"managed": "no"})
        add(reservations, "source", {"type": "unix", "path": disk.reservations, "mode": "client"})
