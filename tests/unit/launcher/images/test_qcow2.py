"""Empty qcow2 images, checked with qemu-img."""

import json
import subprocess
from pathlib import Path

import pytest

from virtshape.launcher.images.detection import parse_qcow2
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.images.qcow2 import render_qcow2

MIB, TIB = 1 << 20, 1 << 40


@pytest.mark.parametrize("size", [512, 8 * MIB, 512 * MIB, 512 * MIB + 512, 5 * TIB])
@pytest.mark.parametrize("backing", ["", "/images/base.img"], ids=["blank", "overlay"])
def test_created_qcow2_image_has_its_size_and_backing_file(size: int, backing: str) -> None:
    header = parse_qcow2(render_qcow2(size, backing, "raw" if backing else ""))
    assert header is not None
    assert (header.size, header.backing, header.corrupt) == (size, backing or None, False)


def test_too_long_path_of_a_backing_file_is_refused() -> None:
    with pytest.raises(RefusedImageError, match="too long"):
        render_qcow2(MIB, "/" + "x" * 1023, "raw")


def call(*arguments: str | Path) -> str:
    try:
        return subprocess.run(
            ["qemu-img", *arguments],  # noqa: S607 - whichever there is
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except FileNotFoundError:
        pytest.skip("qemu-img is not installed: see the package qemu-utils")
        raise


@pytest.mark.parametrize("size", [8 * MIB, 5 * TIB], ids=["small", "large"])
def test_qemu_img_check_finds_no_errors_in_a_created_overlay(tmp_path: Path, size: int) -> None:
    base, image = tmp_path / "base.img", tmp_path / "image.qcow2"
    base.write_bytes(b"base" * MIB)
    image.write_bytes(render_qcow2(size, str(base), "raw"))
    assert "No errors were found" in call("check", image)
    found = json.loads(call("info", "--output=json", image))
    assert (found["virtual-size"], found["backing-filename"], found["backing-filename-format"]) == (
        size,
        str(base),
        "raw",
    )


def test_qcow2_overlay_has_the_content_of_its_backing_file(tmp_path: Path) -> None:
    base, image, copy = tmp_path / "base.img", tmp_path / "image.qcow2", tmp_path / "copy.img"
    base.write_bytes(b"base" * (MIB // 4))
    image.write_bytes(render_qcow2(2 * MIB, str(base), "raw"))
    call("convert", "-O", "raw", image, copy)
    assert copy.read_bytes() == base.read_bytes().ljust(2 * MIB, b"\0")
