"""
Create qcow2 images, and convert images to other formats.

New qcow2 images are created atomically, without qemu-img, which would delay the start of guests. Sources must have been
inspected, because they are opened with the given format.
"""

import struct
from pathlib import Path
from typing import Final, Literal

from virtshape.launcher.images.atomic import write_atomically
from virtshape.launcher.images.command import run
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.inspection import describe_source
from virtshape.launcher.images.progress import Progress, ignore

CLUSTER: Final = 1 << 16
MAX_BACKING_LENGTH: Final = 1023
_HEADER: Final = struct.Struct(">4sIQIIQIIQQIIQQQQII")
_BACKING_FORMAT: Final = 0xE2792ACA
_TABLES: Final = 3
"""Clusters before the L1 table: the header, the refcount table and a refcount block."""
_CONVERT_SECONDS: Final = 6 * 3600.0
_CONVERT_MEMORY: Final = 2 << 30


def render_qcow2(size: int, backing: str = "", backing_format: str = "") -> bytes:
    """Return an empty image of this virtual size, with an optional backing file."""
    name, form = backing.encode(), backing_format.encode()
    if len(name) > MAX_BACKING_LENGTH:
        raise RefusedImageError(f"the path {backing} is too long for a backing file")
    entries = max(1, -(-size // (CLUSTER * CLUSTER // 8)))
    clusters = _TABLES + -(-entries * 8 // CLUSTER)
    extensions = struct.pack(">II", _BACKING_FORMAT, len(form)) + form + bytes(-len(form) % 8) if form else b""
    extensions += bytes(8)
    header = _HEADER.pack(
        b"QFI\xfb",
        3,
        _HEADER.size + len(extensions) if name else 0,
        len(name),
        CLUSTER.bit_length() - 1,
        size,
        0,
        entries,
        _TABLES * CLUSTER,
        CLUSTER,
        1,
        *(0, 0, 0, 0, 0),
        4,
        _HEADER.size,
    )
    counts = struct.pack(">H", 1) * clusters
    parts = (header + extensions + name, struct.pack(">Q", 2 * CLUSTER), counts)
    return b"".join(part.ljust(CLUSTER, b"\0") for part in parts) + bytes((clusters - _TABLES) * CLUSTER)


def make_blank(target: Path, size: int) -> None:
    """Create an empty image of this virtual size, which need not survive a host crash."""
    write_atomically(target, render_qcow2(size), durable=False)


def make_overlay(target: Path, base: Path, base_format: str, size: int) -> None:
    """Create an overlay of this virtual size over a base image, which QEMU opens read-only."""
    write_atomically(target, render_qcow2(size, str(base.absolute()), base_format), durable=False)


def convert(
    source: Path, source_format: str, target: Path, target_format: Literal["raw", "qcow2"], progress: Progress = ignore
) -> None:
    """Convert an image to another format; write directly to the target and preserve holes."""
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
