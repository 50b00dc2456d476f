"""
Disk image files of volumes: create, resize, copy, remove.

All functions may block. A new or copied image appears only when it is complete.
"""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

from virtshape.launcher.images.atomic import replace_file
from virtshape.launcher.images.clone import copy_file
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.inspection import round_up
from virtshape.launcher.images.progress import Progress
from virtshape.launcher.layout import DISK_IMAGE
from virtshape.standalone.storage.trees import copy_directory

BLOCK: Final = 4096
"""Image sizes are multiples of the largest block size that guests see."""


def make_directory(path: Path) -> None:
    """Create a directory that only its owner can access."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def make_blank(target: Path, size: int, *, preallocated: bool = False) -> None:
    """Create an empty image, which is sparse unless `preallocated` is set."""
    with replace_file(target) as partial:
        partial.touch(mode=0o600)
        resize(partial, size, preallocated=preallocated)


def is_image(path: Path) -> bool:
    """Return True if the disk image exists; raise RefusedImageError if the image is not a regular file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode):
        raise RefusedImageError(f"the volume has a {path.name} that is not a file")
    return True


def grow(image: Path, size: int) -> None:
    """Enlarge an image; leave an image that is large enough unchanged."""
    descriptor = os.open(image, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, round_up(size, BLOCK))
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def resize(image: Path, size: int, *, preallocated: bool = False) -> None:
    """Set the size of an image that is not in use yet."""
    size = round_up(size, BLOCK)
    with image.open("r+b") as file:
        file.truncate(size)
        if preallocated:
            os.posix_fallocate(file.fileno(), 0, size)


def copy_image(source: Path, target: Path, size: int, progress: Progress, *, preallocated: bool = False) -> None:
    """Copy an image into a volume of `size` bytes."""
    needed = source.stat().st_size
    if needed > round_up(size, BLOCK):
        raise RefusedImageError(f"the source disk has {needed} bytes but the claim only {size}: request a larger claim")
    with replace_file(target) as partial:
        copy_file(source, partial, progress, size)
        resize(partial, size, preallocated=preallocated)


def copy_volume(source: Path, target: Path, size: int, progress: Progress, *, preallocated: bool = False) -> None:
    """Copy a volume's disk image, or its files if it has no image; create an empty image if it has neither."""
    image = source / DISK_IMAGE
    if is_image(image):
        copy_image(image, target / DISK_IMAGE, size, progress, preallocated=preallocated)
    elif any(not path.name.startswith(".") for path in source.iterdir()):
        copy_directory(source, target, size, progress)
    else:
        make_blank(target / DISK_IMAGE, size, preallocated=preallocated)


def remove(path: Path) -> None:
    """Remove a file, or a directory and its content, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def remove_directory(path: Path) -> None:
    """Remove a directory and its content; rename it first, so that no incomplete directory remains under its name."""
    removed = path.with_name(f".{path.name}.going")
    for _ in range(2):  # the first pass removes leftovers of an earlier attempt
        if removed.exists():
            shutil.rmtree(removed)
        if path.exists():
            path.rename(removed)
