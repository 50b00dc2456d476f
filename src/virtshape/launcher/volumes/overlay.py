"""Images that live as long as an instance: changes over a base that others use too, and blank disks."""

from pathlib import Path

from virtshape.launcher.images.detection import parse_qcow2
from virtshape.launcher.images.inspection import read_format, round_up
from virtshape.launcher.images.qcow2 import make_blank, make_overlay
from virtshape.launcher.source import Source
from virtshape.launcher.volumes.errors import UnusableVolumeError
from virtshape.launcher.volumes.storage import BLOCK, check_base_image, describe_image, measure
from virtshape.launcher.volumes.task import Task

IMAGE = "disk.img"
"""The name of a disk image in a volume with a file system."""


def prepare_container_disk(task: Task) -> Source:
    """Let the guest write over the image of a container disk, which stays as it is."""
    base = task.require_mount()
    form, size = check_base_image(base)
    return _cover(task.name_image("qcow2"), base, form, size)


def prepare_ephemeral(task: Task) -> Source:
    """Let the guest write over a claim, which stays as it is."""
    base = find_disk(task.require_mount())
    return _cover(task.name_image("qcow2"), base, "raw", measure(base))


def prepare_claim(task: Task) -> Source:
    """Give the guest a claim to write to; what is in it is a disk byte by byte, whatever it looks like."""
    claim = task.volume.persistent_volume_claim
    disk = find_disk(task.require_mount())
    return describe_image(disk, read_only=claim is not None and bool(claim.read_only))


def prepare_empty_disk(task: Task) -> Source:
    """Give the guest a blank disk, or the one it had when it was started before."""
    wanted = task.volume.empty_disk
    size = wanted.capacity.value() if wanted is not None else 0
    if size <= 0:
        raise UnusableVolumeError("a disk needs a capacity above zero", "capacity")
    image = task.name_image("qcow2")
    if _find_header(image) is None:
        make_blank(image, round_up(size, BLOCK))
    return describe_image(image, "qcow2")


def find_disk(mount: Path) -> Path:
    """Give the disk of a volume: the image in its file system, or the volume itself if it is a device."""
    if not mount.is_dir():
        return mount
    image = mount / IMAGE
    if image.is_symlink() or not image.is_file():
        raise UnusableVolumeError(f"there is no {IMAGE} in it")
    return image


def _cover(image: Path, base: Path, form: str, size: int) -> Source:
    """Keep the changes that there are, unless they were made over something else."""
    if size == 0:
        raise UnusableVolumeError("its image is empty")
    header = _find_header(image)
    if header is None or header != str(base):
        make_overlay(image, base, form, size)
    return describe_image(image, "qcow2")


def _find_header(image: Path) -> str | None:
    """Tell what an image of ours rests on; the empty text if on nothing, None if there is no such image."""
    if not image.exists() or image.stat().st_size == 0:
        return None
    form, head, _ = read_format(image)
    header = parse_qcow2(head) if form == "qcow2" else None
    return (header.backing or "") if header is not None else None
