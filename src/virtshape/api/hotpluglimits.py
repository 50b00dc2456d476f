"""
Hotplug limits of an instance: how many sockets and how much memory its running guest can have.

Limits set by the VM, its instance type or the administrator are fields of the instance. Other limits are annotations.
"""

from typing import Final, NamedTuple

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.quantity import Quantity

MAX_SOCKETS_ANNOTATION: Final = "virtshape.io/max-sockets"
MAX_GUEST_ANNOTATION: Final = "virtshape.io/max-guest"
MAX_VCPUS: Final = 255
"""Maximum number of vCPUs in an amd64 guest without an IOMMU."""
_MAX_DIGITS: Final = 10


class HotplugLimits(NamedTuple):
    """Maximum sockets and memory of a guest; None means that the resource cannot grow."""

    sockets: int | None = None
    memory: Quantity | None = None


def get_hotplug_limits(vmi: VirtualMachineInstance) -> HotplugLimits:
    """Return the hotplug limits of an instance; malformed annotations are ignored."""
    cpu, memory, annotations = vmi.spec.domain.cpu, vmi.spec.domain.memory, vmi.metadata.annotations or {}
    return HotplugLimits(
        (cpu.max_sockets if cpu is not None else None) or _read_count(annotations.get(MAX_SOCKETS_ANNOTATION, "")),
        (memory.max_guest if memory is not None else None) or _read_quantity(annotations.get(MAX_GUEST_ANNOTATION, "")),
    )


def _read_count(text: str) -> int | None:
    return int(text) or None if text.isdecimal() and len(text) < _MAX_DIGITS else None


def _read_quantity(text: str) -> Quantity | None:
    try:
        return Quantity(text) if text else None
    except ValueError:
        return None
