"""Properties of an image's storage: size, block sizes, direct I/O."""

import os
import stat
from pathlib import Path
from typing import Final, Literal

from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.images.detection import find_external_reference, parse_qcow2
from virtshape.launcher.images.inspection import SECTOR, read_format, round_up
from virtshape.launcher.volumes.task import UnusableVolumeError

BLOCK: Final = 4096
"""Disk sizes are rounded up to a multiple of this block size, the largest block size that guests see."""


def describe_image(path: Path, form: Literal["raw", "qcow2"] = "raw", *, read_only: bool = False) -> Source:
    """Return the source of an image, which is a file or a block device."""
    found = path.stat()
    direct = _has_direct_io(path)
    if stat.S_ISBLK(found.st_mode):
        queue = Path(f"/sys/dev/block/{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}/queue")
        logical = _read_number(queue / "logical_block_size") or SECTOR
        return Source(
            path=str(path),
            format=form,
            kind="block",
            read_only=read_only,
            direct_io=direct,
            preallocated=True,
            logical_block_size=logical,
            physical_block_size=_read_number(queue / "physical_block_size") or logical,
            discard_granularity=_read_number(queue / "discard_granularity") or None,
        )
    block = os.statvfs(path).f_bsize
    return Source(
        path=str(path),
        format=form,
        read_only=read_only,
        direct_io=direct,
        preallocated=form == "raw" and 0 < found.st_size <= found.st_blocks * 512,
        logical_block_size=block,
        physical_block_size=block,
    )


def measure(path: Path) -> int:
    """Return the size of a file or block device in bytes, rounded up to whole sectors."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return round_up(os.lseek(descriptor, 0, os.SEEK_END), SECTOR)
    finally:
        os.close(descriptor)


def validate_base_image(path: Path) -> tuple[Literal["raw", "qcow2"], int]:
    """Return the format and size of a base image; raise UnusableVolumeError if the image is not self-contained."""
    form, head, size = read_format(path)
    if form == "raw":
        return "raw", round_up(size, SECTOR)
    header = parse_qcow2(head) if form == "qcow2" else None
    reference = find_external_reference(form, head)
    if header is None or reference is not None:
        raise UnusableVolumeError(
            f"its image cannot be used: {reference or f'the format {form} is neither raw nor qcow2'}"
        )
    return "qcow2", header.size


def _has_direct_io(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
