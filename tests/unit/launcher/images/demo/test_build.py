"""Files of the demo guest, and the programs that building it needs."""

from pathlib import Path

import pytest

from virtshape.launcher.images.demo.build import find_demo_guest
from virtshape.launcher.images.demo.packages import Packages
from virtshape.launcher.images.errors import ToolError


def test_flavours_have_separate_files(tmp_path: Path) -> None:
    files = {*find_demo_guest(tmp_path), *find_demo_guest(tmp_path, "full")}
    assert len(files) == 6
    assert find_demo_guest(tmp_path) == find_demo_guest(tmp_path, "cloud")


def test_machine_without_apt_gets_a_list_of_missing_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="which needs apt-get, apt-cache, dpkg-deb"):
        Packages(tmp_path)
