"""
Memory that a guest is given while it runs: a device that grows into the memory_range which the guest was started with.

Pure: libvirt's descriptions in, libvirt's descriptions out; all sizes in KiB.
"""

import xml.etree.ElementTree as ET
from typing import Final

from msgspec import Struct

_DEVICE: Final = "devices/memory[@model='virtio-mem']"
_BLOCK: Final = 2048
"""Memory comes and goes in pieces of this size."""


class MemoryRange(Struct, frozen=True):
    """How much memory a guest can have."""

    minimum: int
    """What it was started with."""
    maximum: int
    alias: str = ""
    """The name of the device, once there is one."""


def find_memory_range(xml: str) -> MemoryRange | None:
    """Read a live domain's description; None if it was started with no memory_range for more."""
    root = ET.fromstring(xml)  # noqa: S314 - libvirt wrote it
    maximum, memory, device = root.find("maxMemory"), _read(root, "memory"), root.find(_DEVICE)
    if maximum is None:
        return None
    alias = device.find("alias") if device is not None else None
    minimum = memory - (_read(device, "target/size") if device is not None else 0)
    return MemoryRange(minimum, int(maximum.text or 0), alias.get("name", "") if alias is not None else "")


def render_memory_device(memory_range: MemoryRange, memory: int) -> str:
    """The device of a guest that is to have so much memory."""
    device = ET.Element("memory", {"model": "virtio-mem"})
    target = ET.SubElement(device, "target")
    more = memory - memory_range.minimum
    sizes = {
        "size": memory_range.maximum - memory_range.minimum,
        "node": 0,
        "block": _BLOCK,
        "requested": more - more % _BLOCK,
    }
    for name, value in sizes.items():
        ET.SubElement(target, name, {} if name == "node" else {"unit": "KiB"}).text = str(value)
    if memory_range.alias:
        ET.SubElement(device, "alias", {"name": memory_range.alias})
    return ET.tostring(device, encoding="unicode")


def _read(element: ET.Element, path: str) -> int:
    return int(element.findtext(path, "0"))
