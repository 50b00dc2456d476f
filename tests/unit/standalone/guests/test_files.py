"""Files in a guest's directory from which volumes are built."""

import stat
from pathlib import Path

import pytest

from virtshape.standalone.guests.files import write_mounts


def test_mount_contents_are_written_to_private_files(tmp_path: Path) -> None:
    directory = tmp_path / "mounts"
    written = write_mounts(directory, {"disk": "/somewhere", "settings": {"a": b"1", "deep/b": b"2"}})
    assert written == {"disk": "/somewhere", "settings": str(directory / "settings")}
    assert (directory / "settings" / "deep" / "b").read_bytes() == b"2"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (directory / "settings").rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_mount_files_from_a_previous_start_are_removed(tmp_path: Path) -> None:
    write_mounts(tmp_path / "mounts", {"settings": {"old": b"1"}})
    write_mounts(tmp_path / "mounts", {"settings": {"new": b"2"}})
    assert [path.name for path in (tmp_path / "mounts" / "settings").iterdir()] == ["new"]


def test_mount_file_names_outside_of_the_volume_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="outside of its volume"):
        write_mounts(tmp_path / "mounts", {"settings": {"../../escaped": b"1"}})
    assert not (tmp_path / "escaped").exists()
