"""Disks of an instance: overlays over shared base images, claims, and empty disks."""

from pathlib import Path

from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.images.detection import parse_qcow2
from virtshape.launcher.images.inspection import read_format, round_up
from virtshape.launcher.images.qcow2 import make_blank, make_overlay
from virtshape.launcher.layout import DISK_IMAGE
from virtshape.launcher.volumes.storage import BLOCK, describe_image, measure, validate_base_image
from virtshape.launcher.volumes.task import Task, UnusableVolumeError


def prepare_container_disk(task: Task) -> Source:
    """Create an overlay over a container disk, which is not modified."""
    base = task.require_mount()
    form, size = validate_base_image(base)
    return _ensure_overlay(task.name_image("qcow2"), base, form, size)


def prepare_ephemeral(task: Task) -> Source:
    """Create an overlay over a claim, which is not modified."""
    base = get_disk(task.require_mount())
    return _ensure_overlay(task.name_image("qcow2"), base, "raw", measure(base))


def prepare_claim(task: Task) -> Source:
    """Return the disk of a claim, always as a raw image, because the guest controls its content."""
    claim = task.volume.persistent_volume_claim
    disk = get_disk(task.require_mount())
    return describe_image(disk, read_only=claim is not None and bool(claim.read_only))


def prepare_empty_disk(task: Task) -> Source:
    """Create an empty disk unless the volume has one from an earlier start; return the disk."""
    wanted = task.volume.empty_disk
    size = wanted.capacity.value() if wanted is not None else 0
    if size <= 0:
        raise UnusableVolumeError("must be greater than zero", "capacity")
    image = task.name_image("qcow2")
    if _find_backing_file(image) is None:
        make_blank(image, round_up(size, BLOCK))
    return describe_image(image, "qcow2")


def get_disk(mount: Path) -> Path:
    """Return the disk of a volume: the image in its file system, or the block device."""
    if not mount.is_dir():
        return mount
    image = mount / DISK_IMAGE
    if image.is_symlink() or not image.is_file():
        raise UnusableVolumeError(f"it contains no {DISK_IMAGE}")
    return image


def _ensure_overlay(image: Path, base: Path, form: str, size: int) -> Source:
    """Return the overlay over a base image; create an overlay unless there is already one with this base."""
    if size == 0:
        raise UnusableVolumeError("its image is empty")
    backing = _find_backing_file(image)
    if backing is None or backing != str(base):
        make_overlay(image, base, form, size)
    return describe_image(image, "qcow2")


def _find_backing_file(image: Path) -> str | None:
    """Return the backing file of an image, empty if it has none; None if there is no qcow2 image."""
    if not image.exists() or image.stat().st_size == 0:
        return None
    form, head, _ = read_format(image)
    header = parse_qcow2(head) if form == "qcow2" else None
    return (header.backing or "") if header is not None else None
