"""VNC viewers: the installed program that is chosen, and its command-line arguments."""

import stat
from pathlib import Path

import pytest

from virtshape.cli.guest.vncviewer import Viewer, find_viewer


def _install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("")
        (folder / name).chmod(stat.S_IRWXU)


@pytest.mark.parametrize(
    ("installed", "wanted", "found"),
    [
        ([], "", None),
        (["remote-viewer", "vncviewer"], "", "remote-viewer"),
        (["vncviewer"], "", "tiger"),
        (["remote-viewer", "vncviewer"], "real", "real"),
        (["remote-viewer"], "tiger", None),
    ],
    ids=["none", "both", "one", "requested", "missing"],
)
def test_vnc_viewer_is_found_only_if_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: list[str], wanted: str, found: str | None
) -> None:
    _install(tmp_path, *installed)
    monkeypatch.setenv("PATH", str(tmp_path))
    viewer = find_viewer(wanted, platform="linux")
    assert (viewer and viewer.type) == found
    assert find_viewer("chicken", platform="darwin") is None


@pytest.mark.parametrize(
    ("viewer", "arguments"),
    [
        ("remote-viewer", ["x", "vnc://h:5900"]),
        ("tiger", ["x", "h::5900"]),
        ("real", ["x", "h::5900", "-WarnUnencrypted=0", "-Shared=0", "-ShareFiles=0"]),
        ("chicken", ["x", "h:5900"]),
    ],
)
def test_arguments_of_a_vnc_viewer_depend_on_the_program(viewer: str, arguments: list[str]) -> None:
    assert Viewer(viewer, "x").build_arguments("h", 5900) == arguments
