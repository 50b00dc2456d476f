"""Files of the demo guest, and the programs that are needed to build it."""

from pathlib import Path

import pytest

from virtshape.launcher.images.demo.build import get_demo_guest, get_kernel, is_kernel
from virtshape.launcher.images.demo.packages import Packages
from virtshape.launcher.images.errors import ToolError


def test_demo_guest_flavours_have_separate_files(tmp_path: Path) -> None:
    files = {*get_demo_guest(tmp_path), *get_demo_guest(tmp_path, "full")}
    assert len(files) == 6
    assert get_demo_guest(tmp_path) == get_demo_guest(tmp_path, "cloud")


def test_missing_programs_are_listed_on_a_machine_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="which needs apt-get, apt-cache, dpkg-deb"):
        Packages(tmp_path)


@pytest.mark.parametrize(
    "path",
    ["boot/vmlinuz-7.2.12+deb14-cloud-amd64", "usr/lib/modules/7.2.12+deb14-cloud-amd64/vmlinuz"],
    ids=["Debian 13", "Debian 14"],
)
def test_kernel_image_and_its_version_are_found(path: str, tmp_path: Path) -> None:
    assert is_kernel(path)
    kernel = tmp_path / path
    kernel.parent.mkdir(parents=True)
    kernel.touch()
    assert get_kernel(tmp_path) == (kernel, "7.2.12+deb14-cloud-amd64")


def test_missing_kernel_image_is_reported(tmp_path: Path) -> None:
    assert not is_kernel("usr/lib/modules/7.2.12+deb14-cloud-amd64/config")
    with pytest.raises(ToolError, match="contain no kernel image"):
        get_kernel(tmp_path)
