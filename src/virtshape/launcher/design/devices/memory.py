"""
Memory that was given to a guest after its start.

Pure: no I/O, no clock, no logging. What the guest started with is the domain's own memory.
"""

from typing import Final

from virtshape.launcher.design.devices.brief import Brief
from virtshape.launcher.domain.devices.platform import MemoryDevice

_BLOCK: Final = 2 * 1024 * 1024


def design_memory(brief: Brief) -> MemoryDevice | None:
    """A device with room up to the most the guest may have, filled as far as it has grown."""
    status, memory = brief.vmi.status, brief.spec.domain.memory
    start = status.memory.guest_at_boot if status is not None and status.memory is not None else None
    if start is None or memory is None or memory.guest is None or memory.max_guest is None:
        return None
    requested = memory.guest.value() - start.value()
    if requested <= 0:
        return None
    return MemoryDevice(size=memory.max_guest.value() - start.value(), requested=requested, block=_BLOCK)
