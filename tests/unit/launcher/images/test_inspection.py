"""Images are inspected before QEMU opens them, and no file that they refer to is opened."""

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from virtshape.launcher.images.detection import detect_format, parse_qcow2
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.inspection import ImageInfo, inspect_image
from virtshape.launcher.images.qcow2 import convert

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _needs_qemu_img() -> None:
    if shutil.which("qemu-img") is None:
        pytest.skip("qemu-img is not installed: see the package qemu-utils")


def make(path: Path, form: str, *options: str, size: str = "8M") -> Path:
    subprocess.run(["qemu-img", "create", "-q", "-f", form, *options, str(path), size], check=True)  # noqa: S607 - wherever it is
    return path


@pytest.mark.parametrize("form", ["qcow2", "vmdk", "vdi", "vpc", "vhdx"])
def test_self_contained_image_is_accepted_and_can_be_converted(tmp_path: Path, form: str) -> None:
    image = make(tmp_path / "it's, a disk", form)
    info = inspect_image(image)
    assert info.format == form
    assert 8 * MIB <= info.size < 9 * MIB
    convert(image, form, tmp_path / "disk.img", "raw")
    assert (tmp_path / "disk.img").stat().st_size == info.size


def test_image_of_unknown_format_is_treated_as_raw(tmp_path: Path) -> None:
    (tmp_path / "disk.img").write_bytes(b"x" * 1000)
    assert inspect_image(tmp_path / "disk.img") == ImageInfo("raw", 1024)


@pytest.mark.parametrize("options", [[], ["-o", "compat=0.10"], ["-o", "cluster_size=2M"], ["-o", "extended_l2=on"]])
def test_qcow2_header_is_parsed(tmp_path: Path, options: list[str]) -> None:
    header = parse_qcow2(make(tmp_path / "disk", "qcow2", *options).read_bytes())
    assert header is not None
    assert header._replace(version=3) == (3, 8 * MIB, None, False, False, False)


@pytest.mark.parametrize(
    ("form", "message"), [("qcow2", "`qemu-img check` finds 16 errors in it"), ("vmdk", "qemu-img failed")]
)
def test_truncated_image_is_refused(tmp_path: Path, form: str, message: str) -> None:
    (tmp_path / "content").write_bytes(os.urandom(4 * MIB))
    image = tmp_path / "disk"
    subprocess.run(["qemu-img", "convert", "-O", form, str(tmp_path / "content"), str(image)], check=True)  # noqa: S607 - wherever it is
    inspect_image(image)
    os.truncate(image, image.stat().st_size - MIB)
    with pytest.raises(RefusedImageError, match=f"the image is damaged, or a part of it is missing: {message}"):
        inspect_image(image)


def build_qcow2(*, version: int = 3, backing: bytes = b"", crypt: int = 0, incompatible: int = 0) -> bytes:
    at = 512 if backing else 0
    start = struct.pack(">4sIQIIQI", b"QFI\xfb", version, at, len(backing), 16, MIB, crypt).ljust(72, b"\0")
    return (start + struct.pack(">QQQII", incompatible, 0, 0, 4, 104)).ljust(512, b"\0") + backing


def build_vmdk(capacity: int, descriptor: bytes = b"") -> bytes:
    return (b"KDMV" + struct.pack("<IIQ", 1, 3, capacity)).ljust(512, b"\0") + descriptor


UNSAFE_IMAGES: dict[str, tuple[bytes, str]] = {
    "backing file": (build_qcow2(backing=b"/etc/shadow"), r"backed by another file \('/etc/shadow'\)"),
    "backing file of version 2": (build_qcow2(version=2, backing=b"/etc/shadow"), "backed by another file"),
    "backing server": (build_qcow2(backing=b"nbd://127.0.0.1:1/x"), "backed by another file"),
    "backing tree": (build_qcow2(backing=b'json:{"driver":"file"}'), "backed by another file"),
    "data file": (build_qcow2(incompatible=4), "keeps its data in another file"),
    "old encryption": (build_qcow2(crypt=1), "is encrypted"),
    "encryption": (build_qcow2(crypt=2), "is encrypted"),
    "corrupt": (build_qcow2(incompatible=2), "is marked as corrupt"),
    "version 1": (build_qcow2(version=1), "damaged or of an unknown version"),
    "version 9": (build_qcow2(version=9), "damaged or of an unknown version"),
    "truncated": (b"QFI\xfb\0\0", "damaged or of an unknown version"),
    "header without data": (build_qcow2(), "cannot be read as qcow2"),
    "description of other files": (
        b'# Disk DescriptorFile\nRW 2048 FLAT "/etc/shadow" 0\n',
        "a VMDK that describes other files",
    ),
    "extent without capacity": (build_vmdk(0, b'RW 2048 FLAT "/etc/shadow" 0\n'), "a VMDK that describes other files"),
    "extent with a parent": (build_vmdk(2048, b'parentFileNameHint="/etc/shadow"'), "backed by another file"),
    "old extents": (b"COWD".ljust(512, b"\0"), "a VMDK that describes other files"),
    "luks": (b"LUKS\xba\xbe".ljust(512, b"\0"), "image format luks is not supported"),
    "qed": (b"QED\0".ljust(512, b"\0"), "image format qed is not supported"),
    "parallels": (b"WithoutFreeSpace".ljust(512, b"\0"), "image format parallels is not supported"),
    "dmg": (bytes(1024) + b"koly".ljust(512, b"\0"), "image format dmg is not supported"),
    "zip": (b"PK\x03\x04".ljust(512, b"\0"), "image format zip is not supported"),
    "invalid vhdx": (b"vhdxfile".ljust(MIB, b"\0"), "cannot be read as vhdx"),
    "empty": (b"", "the image is empty"),
}


@pytest.mark.parametrize(("content", "message"), UNSAFE_IMAGES.values(), ids=UNSAFE_IMAGES)
def test_image_that_refers_to_other_files_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "disk").write_bytes(content)
    with pytest.raises(RefusedImageError, match=message):
        inspect_image(tmp_path / "disk")


UNSAFE_QEMU_IMAGES: dict[str, tuple[str, list[str], str]] = {
    "qcow2 with a backing file": ("qcow2", ["-u", "-F", "raw", "-b", "/etc/hostname"], "is backed by another file"),
    "qcow2 with a data file": ("qcow2", ["-o", "data_file={}/data"], "keeps its data in another file"),
    "vmdk in two files": ("vmdk", ["-o", "subformat=twoGbMaxExtentFlat"], "describes other files"),
    "vmdk with a flat file": ("vmdk", ["-o", "subformat=monolithicFlat"], "describes other files"),
}


@pytest.mark.parametrize(("form", "options", "message"), UNSAFE_QEMU_IMAGES.values(), ids=UNSAFE_QEMU_IMAGES)
def test_image_that_qemu_writes_to_several_files_is_refused(
    tmp_path: Path, form: str, options: list[str], message: str
) -> None:
    image = make(tmp_path / "disk", form, *(option.format(tmp_path) for option in options))
    with pytest.raises(RefusedImageError, match=message):
        inspect_image(image)


def test_image_with_a_virtual_size_above_the_limit_is_refused(tmp_path: Path) -> None:
    image = make(tmp_path / "disk", "qcow2", size="1T")
    with pytest.raises(RefusedImageError, match="a disk of 1099511627776 bytes; at most 1048576 are allowed"):
        inspect_image(image, MIB)


def test_missing_image_or_one_that_is_not_a_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RefusedImageError, match="is not a file"):
        inspect_image(tmp_path / "pipe")
    with pytest.raises(RefusedImageError, match="cannot be read: No such file"):
        inspect_image(tmp_path / "none")


@pytest.mark.parametrize(
    ("head", "tail", "form"),
    [
        (b"\x1f\x8b\x08", b"", "gz"),
        (b"\xfd7zXZ\0\0", b"", "xz"),
        (b"\x28\xb5\x2f\xfd", b"", "zst"),
        (b"conectix", b"", "vpc"),
        (bytes(512), b"conectix".ljust(512), "vpc"),
        (bytes(64) + b"\x7f\x10\xda\xbe", b"", "vdi"),
        (b"", b"", "raw"),
        (b"\xeb\x63\x90", bytes(512), "raw"),
    ],
)
def test_image_format_is_detected_from_the_content(head: bytes, tail: bytes, form: str) -> None:
    assert detect_format(head, tail) == form
