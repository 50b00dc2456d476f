"""Files of volumes: disk images and directories are created, copied and removed."""

import io
import os
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from virtshape.launcher.images.errors import NoSpaceError, RefusedImageError
from virtshape.launcher.images.progress import ignore
from virtshape.standalone.storage import diskspace, trees
from virtshape.standalone.storage.archives import unpack_archive
from virtshape.standalone.storage.files import copy_volume, grow, make_blank, remove, remove_directory

MIB = 1 << 20


def test_blank_image_is_sparse_unless_preallocated(tmp_path: Path) -> None:
    make_blank(tmp_path / "sparse", MIB)
    make_blank(tmp_path / "taken", MIB, preallocated=True)
    make_blank(tmp_path / "odd", 1000)
    sizes = {path.name: (path.stat().st_size, path.stat().st_blocks) for path in tmp_path.iterdir()}
    assert sizes["sparse"] == (MIB, 0)
    assert sizes["taken"][0] == MIB
    assert sizes["taken"][1] >= MIB // 512
    assert sizes["odd"] == (4096, 0)


def test_disk_image_grows_but_never_shrinks(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"kept".ljust(1024, b"\0"))
    grow(image, 4096)
    grow(image, 512)
    assert image.read_bytes() == b"kept".ljust(4096, b"\0")


def make_volume(path: Path, **files: bytes) -> Path:
    path.mkdir()
    for name, content in files.items():
        (path / name.replace("_", ".")).write_bytes(content)
    return path


def test_volume_with_an_image_is_copied_as_an_image(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a", disk_img=b"x" * 512), make_volume(tmp_path / "b")
    copy_volume(source, target, MIB, ignore)
    assert (target / "disk.img").read_bytes() == (b"x" * 512).ljust(MIB, b"\0")


def test_symlink_in_place_of_an_image_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s" * 512)
    source, target = make_volume(tmp_path / "a"), make_volume(tmp_path / "b")
    (source / "disk.img").symlink_to(tmp_path / "secret")
    with pytest.raises(RefusedImageError, match=r"a disk\.img that is not a file"):
        copy_volume(source, target, MIB, ignore)
    with pytest.raises(OSError, match="symbolic link"):
        grow(source / "disk.img", MIB)
    assert list(target.iterdir()) == []
    assert (tmp_path / "secret").read_bytes() == b"s" * 512


def test_volume_with_files_is_copied_file_by_file(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a", one=b"1"), make_volume(tmp_path / "b")
    (source / "below").mkdir()
    (source / "below" / "two").write_bytes(b"22")
    (source / "link").symlink_to("/etc/passwd")
    copy_volume(source, target, MIB, ignore)
    assert (target / "one").read_bytes() == b"1"
    assert (target / "below" / "two").read_bytes() == b"22"
    assert (target / "link").is_symlink()


def test_copy_of_an_empty_volume_is_an_empty_image(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a"), make_volume(tmp_path / "b")
    copy_volume(source, target, MIB, ignore)
    assert (target / "disk.img").stat().st_size == MIB


@pytest.mark.parametrize(
    ("name", "message"), [("disk_img", "8192 bytes"), ("file", "needs more than the 4096 bytes of the claim")]
)
def test_copy_of_a_volume_larger_than_the_claim_is_refused(tmp_path: Path, name: str, message: str) -> None:
    source, target = make_volume(tmp_path / "a", **{name: b"x" * 8192}), make_volume(tmp_path / "b")
    with pytest.raises(RefusedImageError, match=message):
        copy_volume(source, target, 4096, ignore)
    assert list(target.iterdir()) == []


def test_volume_with_too_many_entries_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_ENTRIES", 3)
    source, target = make_volume(tmp_path / "a", one=b"", two=b""), make_volume(tmp_path / "b")
    (source / "x" / "y").mkdir(parents=True)
    with pytest.raises(RefusedImageError, match="more than 3 files and directories"):
        copy_volume(source, target, MIB, ignore)
    assert list(target.iterdir()) == []


def test_volume_with_too_deep_directories_is_not_copied(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a"), make_volume(tmp_path / "b")
    source.joinpath(*["d"] * 128).mkdir(parents=True)
    with pytest.raises(RefusedImageError, match="more than 128 directories"):
        copy_volume(source, target, MIB, ignore)
    assert list(target.iterdir()) == []


def test_volume_that_contains_a_pipe_is_not_copied(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a", one=b""), make_volume(tmp_path / "b")
    os.mkfifo(source / "pipe")
    with pytest.raises(RefusedImageError, match="a device, pipe or socket, 'pipe'"):
        copy_volume(source, target, MIB, ignore)


def test_copy_of_many_files_uses_little_memory(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a"), make_volume(tmp_path / "b")
    for number in range(2000):
        (source / f"file-{number}").touch()
    tracemalloc.start()
    try:
        copy_volume(source, target, MIB, ignore)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(list(target.iterdir())) == 2000
    assert peak < 1.5 * MIB  # 1 MiB is the copy buffer of one file


def test_interrupted_copy_of_a_volume_is_completed(tmp_path: Path) -> None:
    source, target = make_volume(tmp_path / "a", one=b"1"), make_volume(tmp_path / "b")
    (source / "below").mkdir()
    (source / "below" / "two").write_bytes(b"22")
    (source / "run").write_bytes(b"")
    (source / "run").chmod(0o4750)
    (target / "below").mkdir()
    (target / "below" / "two").write_bytes(b"2")
    copy_volume(source, target, MIB, ignore)
    assert (target / "below" / "two").read_bytes() == b"22"
    assert (target / "run").stat().st_mode & 0o7777 == 0o750


def test_space_check_reports_missing_inodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.statvfs(tmp_path).f_files:
        pytest.skip("this file system does not count inodes")
    space = diskspace.DiskSpace(tmp_path, reserve=0)
    space.require()
    monkeypatch.setattr(diskspace, "MIN_FREE_INODES", 1 << 62)
    with pytest.raises(NoSpaceError, match="inodes are free"):
        space.require()


def test_interrupted_removal_of_a_directory_is_completed(tmp_path: Path) -> None:
    make_volume(tmp_path / "a", disk_img=b"x")
    make_volume(tmp_path / ".a.going", disk_img=b"x")
    remove_directory(tmp_path / "a")
    remove_directory(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_files_and_directories_are_removed_and_missing_paths_ignored(tmp_path: Path) -> None:
    make_volume(tmp_path / "a", file=b"")
    (tmp_path / "b").write_bytes(b"")
    for name in ("a", "b", "c"):
        remove(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def pack(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_extracted_archive_replaces_existing_directories(tmp_path: Path) -> None:
    target, scratch = make_volume(tmp_path / "target"), make_volume(tmp_path / "scratch")
    (target / "etc").mkdir()
    (target / "etc" / "old").write_bytes(b"")
    unpack_archive(pack(tmp_path / "tar", etc__name=b"guest"), target, MIB, scratch, ignore)
    assert [path.name for path in (target / "etc").iterdir()] == ["name"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("a", b"x" * 2048, "more than the 1024 bytes"), ("..__..__a", b"x", "a path outside of the volume")],
    ids=["too much", "outside"],
)
def test_archive_with_paths_outside_of_the_volume_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    target, scratch = make_volume(tmp_path / "target"), make_volume(tmp_path / "scratch")
    with pytest.raises(RefusedImageError, match=message):
        unpack_archive(pack(tmp_path / "tar", **{name: content}), target, 1024, scratch, ignore)
    assert list(target.iterdir()) == []
