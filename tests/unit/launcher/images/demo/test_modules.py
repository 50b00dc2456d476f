"""Kernel modules of the demo guest."""

import gzip
import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from virtshape.launcher.images.demo.modules import is_candidate, pick_modules
from virtshape.launcher.images.errors import ToolError


def build_module(*needs: str) -> bytes:
    return b"\x7fELF\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0name=x\0"


def test_kernel_modules_include_only_their_dependencies(tmp_path: Path) -> None:
    drivers = tmp_path / "lib/modules/6.1/kernel"
    drivers.mkdir(parents=True)
    (drivers / "virtio-blk.ko").write_bytes(build_module("virtio", "virtio-ring"))
    (drivers / "virtio.ko").write_bytes(build_module("virtio_ring"))
    (drivers / "virtio_ring.ko.xz").write_bytes(lzma.compress(build_module()))
    (drivers / "other.ko").write_bytes(build_module())
    picked = pick_modules(tmp_path, ["virtio_blk", "ahci"])
    home = "lib/modules/6.1/kernel"
    assert picked == {
        f"{home}/virtio.ko": build_module("virtio_ring"),
        f"{home}/virtio-blk.ko": build_module("virtio", "virtio-ring"),
        f"{home}/virtio_ring.ko": build_module(),
    }


def compress_zstd(content: bytes) -> bytes:
    program = shutil.which("zstd") or ""
    return subprocess.run([program, "--quiet", "--stdout"], input=content, check=True, capture_output=True).stdout


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"xz": lzma.compress, "gz": gzip.compress, "zst": compress_zstd}


@pytest.mark.parametrize("form", COMPRESS)
def test_compressed_modules_of_a_merged_usr_are_decompressed(tmp_path: Path, form: str) -> None:
    if form == "zst" and shutil.which("zstd") is None:
        pytest.skip("zstd is not installed")
    drivers = tmp_path / "usr/lib/modules/6.12/kernel"
    drivers.mkdir(parents=True)
    packed = drivers / f"virtio_blk.ko.{form}"
    packed.write_bytes(COMPRESS[form](build_module()))
    assert pick_modules(tmp_path, ["virtio_blk"]) == {"lib/modules/6.12/kernel/virtio_blk.ko": build_module()}


def test_modules_built_into_the_kernel_are_not_missing(tmp_path: Path) -> None:
    home = tmp_path / "usr/lib/modules/6.12"
    (home / "kernel").mkdir(parents=True)
    (home / "modules.builtin").write_text("kernel/drivers/virtio/virtio_pci.ko\nkernel/drivers/virtio/virtio-ring.ko\n")
    (home / "kernel/virtio_blk.ko").write_bytes(build_module("virtio_ring"))
    picked = pick_modules(tmp_path, ["virtio_pci", "virtio_blk"])
    assert list(picked) == ["lib/modules/6.12/kernel/virtio_blk.ko"]


def test_missing_zstd_is_reported_with_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "virtio_blk.ko.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"virtio_blk\.ko\.zst cannot be decompressed: .*; run apt-get install zstd"):
        pick_modules(tmp_path, ["virtio_blk"])


def test_missing_required_kernel_module_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="the kernel package has no driver virtio_pci"):
        pick_modules(tmp_path, ["virtio_pci"])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("lib/modules/6.1/kernel/drivers/block/virtio_blk.ko", True),
        ("lib/modules/6.12/kernel/drivers/block/virtio_blk.ko.xz", True),
        ("lib/modules/6.1/kernel/drivers/gpu/drm/i915/i915.ko", False),
        ("lib/modules/6.1/kernel/sound/soundcore.ko", False),
        ("usr/lib/modules/6.8/kernel/drivers/block/virtio_blk.ko.zst", True),
        ("usr/lib/modules/6.12/modules.builtin", True),
        ("usr/lib/modules/6.12/modules.builtin.modinfo", False),
    ],
)
def test_unneeded_groups_of_kernel_modules_are_skipped(name: str, wanted: bool) -> None:
    assert is_candidate(name) is wanted
