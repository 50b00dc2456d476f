"""
Making qcow2 images, and turning images of one format into another.

New images appear whole or not at all. Sources must have been judged before: they are opened with the named driver.
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
    """Make an image of so many bytes that takes hardly any space, and need not survive the machine."""
    write_atomically(target, render_qcow2(size), durable=False)


def make_overlay(target: Path, base: Path, base_format: str, size: int) -> None:
    """Make an image that reads from a base, which it never opens for writing, and keeps changes to itself."""
    write_atomically(target, render_qcow2(size, str(base.absolute()), base_format), durable=False)


def convert(
    source: Path, source_format: str, target: Path, target_format: Literal["raw", "qcow2"], progress: Progress = ignore
) -> None:
    """Write the content of an image in another format, at the target's exact name; holes stay holes."""
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
    """Make the disk in an image that nobody uses larger; its content stays."""
    run(["qemu-img", "resize", "-q", "-f", form, str(image), str(size)], seconds=_SECONDS)
