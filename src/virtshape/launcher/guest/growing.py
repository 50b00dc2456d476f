"""
Memory that a guest is given while it runs: a device that grows into the room which the guest was started with.

Pure: libvirt's descriptions in, libvirt's descriptions out; all sizes in KiB.
"""

import xml.etree.ElementTree as ET
from typing import Final

from msgspec import Struct

_DEVICE: Final = "devices/memory[@model='virtio-mem']"
_BLOCK: Final = 2048
"""Memory comes and goes in pieces of this size."""


class Room(Struct, frozen=True):
    """How much memory a guest can have."""

    least: int
    """What it was started with."""
    most: int
    alias: str = ""
    """The name of the device, once there is one."""


def find_room(xml: str) -> Room | None:
    """Read a live domain's description; None if it was started with no room for more."""
    root = ET.fromstring(xml)  # noqa: S314 - libvirt wrote it
    most, memory, device = root.find("maxMemory"), _read(root, "memory"), root.find(_DEVICE)
    if most is None:
        return None
    alias = device.find("alias") if device is not None else None
    least = memory - (_read(device, "target/size") if device is not None else 0)
    return Room(least, int(most.text or 0), alias.get("name", "") if alias is not None else "")


def write_device(room: Room, memory: int) -> str:
    """The device of a guest that is to have so much memory."""
    device = ET.Element("memory", {"model": "virtio-mem"})
    target = ET.SubElement(device, "target")
    more = memory - room.least
    sizes = {"size": room.most - room.least, "node": 0, "block": _BLOCK, "requested": more - more % _BLOCK}
    for name, value in sizes.items():
        ET.SubElement(target, name, {} if name == "node" else {"unit": "KiB"}).text = str(value)
    if room.alias:
        ET.SubElement(device, "alias", {"name": room.alias})
    return ET.tostring(device, encoding="unicode")


def _read(element: ET.Element, path: str) -> int:
    return int(element.findtext(path, "0"))
