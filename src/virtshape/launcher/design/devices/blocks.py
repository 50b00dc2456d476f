"""Design the block sizes that a disk reports to its guest."""

from virtshape.api.kubevirt.devices import CustomBlockSize, Disk
from virtshape.launcher.design.context import DesignContext
from virtshape.launcher.domain.devices.disk import BlockSizes
from virtshape.launcher.source import Source

_USUAL = 512
_GRANULARITY = 10_000_000
"""First libvirt version that supports discard_granularity."""


def design_block_sizes(context: DesignContext, disk: Disk, source: Source | None, at: str) -> BlockSizes | None:
    """Return the custom block sizes, or those of the storage; None if not requested."""
    asked = disk.block_size
    if asked is None:
        return None
    if asked.custom is not None:
        return _take_custom(context, asked.custom, f"{at}.blockSize.custom")
    if source is None or asked.match_volume is None or asked.match_volume.enabled is False:
        return None
    granularity = source.discard_granularity if context.host.libvirt >= _GRANULARITY else None
    return BlockSizes(source.logical_block_size, source.physical_block_size, granularity)


def _take_custom(context: DesignContext, custom: CustomBlockSize, at: str) -> BlockSizes:
    if custom.discard_granularity is not None and context.host.libvirt < _GRANULARITY:
        context.refuse(f"{at}.discardGranularity", "needs libvirt 10")
    logical = custom.logical or _USUAL
    return BlockSizes(logical, custom.physical or logical, custom.discard_granularity)
