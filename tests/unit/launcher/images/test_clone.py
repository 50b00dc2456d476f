"""Copies of images: atomic, with the same bytes and holes."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from virtshape.launcher.images.atomic import replace_file
from virtshape.launcher.images.clone import copy_file
from virtshape.launcher.images.errors import StoppedError
from virtshape.launcher.images.progress import until

MIB = 1 << 20


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """Create an image with data at its start, in its middle and before its end."""
    image = tmp_path / "source.img"
    with image.open("wb") as file:
        for offset in (0, 40 * MIB, 64 * MIB - 8192):
            file.seek(offset)
            file.write(os.urandom(4096))
        file.truncate(64 * MIB)
    return image


def refuse(code: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("broken", [[], ["ioctl"], ["ioctl", "copy_file_range"]], ids="-".join)
def test_copied_image_has_the_same_bytes_and_holes(
    tmp_path: Path, sparse: Path, broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "ioctl" in broken:
        monkeypatch.setattr("fcntl.ioctl", refuse(errno.EOPNOTSUPP))
    if "copy_file_range" in broken:
        monkeypatch.setattr("os.copy_file_range", refuse(errno.EXDEV))
    method = copy_file(sparse, tmp_path / "copy.img")
    assert (tmp_path / "copy.img").read_bytes() == sparse.read_bytes()
    assert (tmp_path / "copy.img").stat().st_blocks <= sparse.stat().st_blocks
    assert not broken or method == "copy"


def test_image_is_copied_on_file_systems_without_holes(
    tmp_path: Path, sparse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seek = os.lseek
    fail = refuse(errno.EINVAL)
    monkeypatch.setattr("fcntl.ioctl", refuse(errno.ENOTTY))
    monkeypatch.setattr(
        "os.lseek", lambda file, offset, how: (fail if how == os.SEEK_DATA else seek)(file, offset, how)
    )
    copy_file(sparse, tmp_path / "copy.img")
    assert (tmp_path / "copy.img").read_bytes() == sparse.read_bytes()


def test_copied_image_can_be_larger_than_its_source(tmp_path: Path, sparse: Path) -> None:
    copy_file(sparse, tmp_path / "copy.img", size=100 * MIB)
    content = (tmp_path / "copy.img").read_bytes()
    assert content == sparse.read_bytes() + bytes(36 * MIB)


def test_copied_image_is_never_smaller_than_its_source(tmp_path: Path, sparse: Path) -> None:
    copy_file(sparse, tmp_path / "copy.img", size=MIB)
    assert (tmp_path / "copy.img").stat().st_size == 64 * MIB


def test_cancelled_copy_of_an_image_does_not_change_the_old_file(tmp_path: Path, sparse: Path) -> None:
    (tmp_path / "copy.img").write_bytes(b"old")
    stop = Event()
    stop.set()
    with pytest.raises(StoppedError), replace_file(tmp_path / "copy.img") as partial:
        copy_file(sparse, partial, until(stop))
    assert (tmp_path / "copy.img").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.img", "source.img"]


def test_changes_to_a_copied_image_do_not_change_its_source(tmp_path: Path, sparse: Path) -> None:
    before = sparse.read_bytes()
    copy_file(sparse, tmp_path / "copy.img")
    with (tmp_path / "copy.img").open("r+b") as file:
        file.write(b"changed")
    assert sparse.read_bytes() == before


def test_copy_progress_ends_with_the_total_size(tmp_path: Path, sparse: Path) -> None:
    progress_calls: list[tuple[int, int | None]] = []
    copy_file(sparse, tmp_path / "copy.img", lambda *how_far: progress_calls.append(how_far))
    assert progress_calls == sorted(progress_calls)
    assert progress_calls[-1] == (64 * MIB, 64 * MIB)
