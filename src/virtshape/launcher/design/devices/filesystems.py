"""
Directories that are shared with the guest.

Pure: no I/O, no clock, no logging.
"""

from virtshape.launcher.design.devices.brief import DEVICES, Brief
from virtshape.launcher.domain.devices.filesystem import Filesystem


def design_filesystems(brief: Brief) -> tuple[Filesystem, ...]:
    """Share what is asked for, where the host has a program that serves it."""
    shared = []
    for index, filesystem in enumerate(brief.devices.filesystems or ()):
        if not brief.host.virtiofs:
            reason = "this host shares no directories with guests: use a disk"
            brief.refuse(f"{DEVICES}.filesystems[{index}].virtiofs", reason)
        shared.append(Filesystem(filesystem.name, brief.locate(f"{filesystem.name}.virtiofs.sock"), brief.iommu))
    return tuple(shared)
