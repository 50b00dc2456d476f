"""
Directories that are shared with the guest.

Pure: no I/O, no clock, no logging.
"""

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.filesystem import Filesystem


def design_filesystems(context: DesignContext) -> tuple[Filesystem, ...]:
    """Share what is asked for, where the host has a program that serves it."""
    shared = []
    for index, filesystem in enumerate(context.devices.filesystems or ()):
        if not context.host.virtiofs:
            reason = "this host shares no directories with guests: use a disk"
            context.refuse(f"{DEVICES}.filesystems[{index}].virtiofs", reason)
        shared.append(Filesystem(filesystem.name, context.locate(f"{filesystem.name}.virtiofs.sock"), context.iommu))
    return tuple(shared)
