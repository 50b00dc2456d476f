"""Design the directories shared with a guest."""

from virtshape.launcher.design.context import DEVICES, DesignContext
from virtshape.launcher.domain.devices.filesystem import Filesystem


def design_filesystems(context: DesignContext) -> tuple[Filesystem, ...]:
    """Return the requested filesystems; refuse them if the host has no virtiofs."""
    shared = []
    for index, filesystem in enumerate(context.devices.filesystems or ()):
        if not context.host.virtiofs:
            reason = "virtiofs is not supported on this host: use a disk"
            context.refuse(f"{DEVICES}.filesystems[{index}].virtiofs", reason)
        shared.append(Filesystem(filesystem.name, context.locate(f"{filesystem.name}.virtiofs.sock"), context.iommu))
    return tuple(shared)
