"""
Inspect untrusted images without changing them.

The header is checked first. Then qemu-img reads the image, with exactly the detected format, only from the local file,
and with limits on time and memory.
"""

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from virtshape.api.model import JsonObject
from virtshape.launcher.images.command import run
from virtshape.launcher.images.detection import HEAD, TAIL, detect_format, find_external_reference
from virtshape.launcher.images.errors import RefusedImageError, ToolError

READABLE: Final = frozenset({"raw", "qcow2", "vmdk", "vdi", "vpc", "vhdx"})
COMPRESSED: Final = frozenset({"gz", "xz"})
SECTOR: Final = 512

_SECONDS: Final = 30.0
_MEMORY: Final = 1 << 30
_CHECK_SECONDS: Final = 600.0
_CHECKED: Final = (0, 2, 3, 63)
"""Exit codes of `qemu-img check`: no errors, errors, leaked clusters, or checks not supported by the format."""
_REFERENCES: Final = ("backing-filename", "full-backing-filename")


class ImageInfo(NamedTuple):
    """Format and size of an accepted image."""

    format: str
    size: int
    """Virtual size in bytes."""


def inspect_image(path: Path, limit: int | None = None, *, thorough: bool = True) -> ImageInfo:
    """
    Inspect an image; raise RefusedImageError if the image is invalid, not self-contained or larger than the limit.

    `thorough` also checks for missing or damaged parts, which QEMU would show to the guest as zeros.
    """
    info = _inspect(path)
    if info.size == 0:
        raise RefusedImageError("the image is empty")
    if limit is not None and info.size > limit:
        raise RefusedImageError(f"the image contains a disk of {info.size} bytes; at most {limit} are allowed")
    if thorough and info.format != "raw":
        _require_integrity(path, info.format)
    return info


def _inspect(path: Path) -> ImageInfo:
    form, head, size = read_format(path)
    if form not in READABLE:
        raise RefusedImageError(f"image format {form} is not supported: use raw or qcow2")
    reference = find_external_reference(form, head)
    if reference is not None:
        raise RefusedImageError(f"the image cannot be used: {reference}")
    if form == "raw":
        return ImageInfo("raw", round_up(size, SECTOR))
    return _ask_qemu(path, form)


def read_format(path: Path) -> tuple[str, bytes, int]:
    """Return the format detected from a file's content, its first bytes, and its size."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise RefusedImageError(f"{path} cannot be read: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RefusedImageError(f"{path} is not a file")
        size = os.fstat(descriptor).st_size
        head = os.pread(descriptor, HEAD, 0)
        tail = os.pread(descriptor, TAIL, max(0, size - TAIL))
    finally:
        os.close(descriptor)
    return detect_format(head, tail), head, size


def describe_source(path: Path, form: str) -> str:
    """Return the --image-opts value that opens exactly this file with exactly this format."""
    name = str(path.absolute()).replace(",", ",,")
    return f"driver={form},file.driver=file,file.filename={name}"


def _ask_qemu(path: Path, form: str) -> ImageInfo:
    command = ["qemu-img", "info", "--output=json", "--image-opts", describe_source(path, form)]
    try:
        answer = msgspec.json.decode(run(command, seconds=_SECONDS, memory=_MEMORY), type=JsonObject)
    except (ToolError, msgspec.DecodeError) as error:
        if "is not installed" in str(error):
            raise
        raise RefusedImageError(f"the image cannot be read as {form}: {error}") from error
    if any(answer.get(key) for key in _REFERENCES):
        raise RefusedImageError("the image cannot be used: it is backed by another file")
    _validate_details(answer, path)
    return ImageInfo(form, int(answer["virtual-size"]))


def _require_integrity(path: Path, form: str) -> None:
    command = ["qemu-img", "check", "--output=json", "--image-opts", describe_source(path, form)]
    try:
        answer = msgspec.json.decode(
            run(command, seconds=_CHECK_SECONDS, memory=_MEMORY, successes=_CHECKED) or b"{}", type=JsonObject
        )
    except (ToolError, msgspec.DecodeError) as error:
        raise RefusedImageError(f"the image is damaged, or a part of it is missing: {error}") from error
    errors = answer.get("corruptions", 0)
    if errors:
        problem = f"`qemu-img check` finds {errors} errors in it"
        raise RefusedImageError(f"the image is damaged, or a part of it is missing: {problem}")


def _validate_details(answer: JsonObject, path: Path) -> None:
    details = answer.get("format-specific", {}).get("data", {})
    if answer.get("encrypted") or details.get("encrypt"):
        raise RefusedImageError("the image cannot be used: it is encrypted")
    if details.get("data-file"):
        raise RefusedImageError("the image cannot be used: it keeps its data in another file")
    named = {extent.get("filename") for extent in details.get("extents", [])}
    if not named <= {str(path.absolute())}:
        raise RefusedImageError("the image cannot be used: it describes other files")


def round_up(size: int, unit: int) -> int:
    """Return the size rounded up to a multiple of a unit."""
    return -(-size // unit) * unit
