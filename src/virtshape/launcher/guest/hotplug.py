"""
vCPU and memory hotplug for a running guest.

Memory is resized with a virtio-mem device, up to the maximum that the guest was started with. The device's sizes are in
KiB.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any, Final

import libvirt
from msgspec import Struct

_KIB: Final = 1024
_DEVICE: Final = "devices/memory[@model='virtio-mem']"
_BLOCK: Final = 2048
"""Block size of the device: memory is added and removed in multiples of this size."""


class MemoryRange(Struct, frozen=True):
    """The memory sizes that a guest can have, in KiB."""

    minimum: int
    """Memory with which the guest was started."""
    maximum: int
    alias: str = ""
    """Alias of the virtio-mem device; empty until the device is added."""
    address: Mapping[str, str] = {}
    """Attributes of the device's address, by which libvirt finds the device to change."""


class HotplugError(Exception):
    """The running guest cannot be changed as requested."""


def set_vcpus(domain: Any, count: int) -> None:
    """Set the number of vCPUs of a running domain."""
    domain.setVcpusFlags(count, libvirt.VIR_DOMAIN_AFFECT_LIVE)


def set_memory(domain: Any, size: int) -> None:
    """Set the memory size of a running domain, in bytes; raise HotplugError if the domain cannot have this size."""
    memory_range, wanted = find_memory_range(domain.XMLDesc(0)), size // _KIB
    if memory_range is None:
        raise HotplugError("the guest was started without memory hotplug: restart the VM")
    if not memory_range.minimum <= wanted <= memory_range.maximum:
        least, most = memory_range.minimum // _KIB, memory_range.maximum // _KIB
        raise HotplugError(f"the guest can have between {least} and {most} MiB of memory")
    change = domain.updateDeviceFlags if memory_range.alias else domain.attachDeviceFlags
    change(render_memory_device(memory_range, wanted), libvirt.VIR_DOMAIN_AFFECT_LIVE)


def find_memory_range(xml: str) -> MemoryRange | None:
    """Return the memory range of a live domain, or None if it was started without maxMemory."""
    root = ET.fromstring(xml)  # noqa: S314 - libvirt wrote it
    maximum, memory, device = root.find("maxMemory"), _read(root, "memory"), root.find(_DEVICE)
    if maximum is None:
        return None
    if device is None:
        return MemoryRange(memory, int(maximum.text or 0))
    minimum = memory - _read(device, "target/size")
    alias, address = (_read_attributes(device, name) for name in ("alias", "address"))
    return MemoryRange(minimum, int(maximum.text or 0), alias.get("name", ""), address)


def render_memory_device(memory_range: MemoryRange, memory: int) -> str:
    """Return the XML of the virtio-mem device for a total memory size in KiB."""
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
        ET.SubElement(device, "address", dict(memory_range.address))
    return ET.tostring(device, encoding="unicode")


def _read_attributes(device: ET.Element, name: str) -> dict[str, str]:
    found = device.find(name)
    return dict(found.attrib) if found is not None else {}


def _read(element: ET.Element, path: str) -> int:
    return int(element.findtext(path, "0"))
