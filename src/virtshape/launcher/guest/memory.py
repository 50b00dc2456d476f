"""
Memory hotplug: resize a virtio-mem device within the maximum that the guest was started with.

Pure: domain XML in, device XML out; all sizes in KiB.
"""

import xml.etree.ElementTree as ET
from typing import Final

from msgspec import Struct

_DEVICE: Final = "devices/memory[@model='virtio-mem']"
_BLOCK: Final = 2048
"""Block size of the device: memory is added and removed in these units."""


class MemoryRange(Struct, frozen=True):
    """How much memory a guest can have."""

    minimum: int
    """Memory at start."""
    maximum: int
    alias: str = ""
    """Alias of the device; empty if it was not added yet."""


def find_memory_range(xml: str) -> MemoryRange | None:
    """Return the memory range of a live domain, or None if it was started without maxMemory."""
    root = ET.fromstring(xml)  # noqa: S314 - libvirt wrote it
    maximum, memory, device = root.find("maxMemory"), _read(root, "memory"), root.find(_DEVICE)
    if maximum is None:
        return None
    alias = device.find("alias") if device is not None else None
    minimum = memory - (_read(device, "target/size") if device is not None else 0)
    return MemoryRange(minimum, int(maximum.text or 0), alias.get("name", "") if alias is not None else "")


def render_memory_device(memory_range: MemoryRange, memory: int) -> str:
    """Return the XML of the device for a total memory size."""
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
