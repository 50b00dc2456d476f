"""
Create qcow2 images, and convert and resize images.

New qcow2 images are created atomically. Sources must have been inspected: they are opened with the given format.
"""

from pathlib import Path
from typing import Final, Literal

from virtshape.launcher.images.atomic import write_atomically
from virtshape.launcher.images.blank import render_qcow2
from virtshape.launcher.images.command import run
from virtshape.launcher.images.inspection import describe_source
from virtshape.launcher.images.progress import Progress, ignore

_SECONDS: Final = 60.0
_CONVERT_SECONDS: Final = 6 * 3600.0
_CONVERT_MEMORY: Final = 2 << 30


def make_blank(target: Path, size: int) -> None:
    """Create an empty image of this virtual size, which need not survive a host crash."""
    write_atomically(target, render_qcow2(size), durable=False)


def make_overlay(target: Path, base: Path, base_format: str, size: int) -> None:
    """Create an overlay over a base image, which is opened read-only."""
    write_atomically(target, render_qcow2(size, str(base.absolute()), base_format), durable=False)


def convert(
    source: Path, source_format: str, target: Path, target_format: Literal["raw", "qcow2"], progress: Progress = ignore
) -> None:
    """Convert an image to another format; write directly to the target and keep holes."""
    total = source.stat().st_size

    def beat() -> None:
        progress(min(total, target.stat().st_blocks * 512) if target.exists() else 0, total)

    run(
        [
            "qemu-img",
            "convert",
            "--image-opts",
            "-O",
            target_format,
            describe_source(source, source_format),
            str(target),
        ],
        seconds=_CONVERT_SECONDS,
        memory=_CONVERT_MEMORY,
        beat=beat,
    )


def grow(image: Path, form: Literal["raw", "qcow2"], size: int) -> None:
    """Grow an image that is not in use; its content is kept."""
    run(["qemu-img", "resize", "-q", "-f", form, str(image), str(size)], seconds=_SECONDS)
