"""
All devices of a domain, from the devices, volumes and networks of an instance.

Pure: no I/O, no clock, no logging.
"""

from collections.abc import Mapping

from msgspec import Struct

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.launcher.domain.devices.whole import Devices
from virtshape.launcher.host import Host
from virtshape.launcher.note import Note
from virtshape.launcher.refusal import Refusal
from virtshape.launcher.source import Source


class DeviceDesign(Struct, frozen=True, kw_only=True):
    """The devices of a domain, and what they ask of the rest of it."""

    devices: Devices
    io_threads: int = 0
    """How many threads the domain has for its disks."""
    shared_memory: bool = False
    """Whether other programs must be able to see the guest's memory."""
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[Note, ...] = ()


def design_devices(
    vmi: VirtualMachineInstance, host: Host, sources: Mapping[str, Source], directory: str
) -> DeviceDesign:
    """Decide on every device; `directory` is where the guest's sockets and logs lie."""
    return DeviceDesign(devices=Devices(emulator=host.emulator))
