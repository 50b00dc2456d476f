"""Files of the host as disks: only below the allowed directories, after resolving links."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.domains import build_guest

from virtshape.launcher.domain.devices.disk import Source
from virtshape.launcher.volumes.prepare import prepare_volumes
from virtshape.launcher.volumes.task import VolumeError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "allowed"
    directory.mkdir()
    return directory


def prepare(tmp_path: Path, path: Path | str, **host_disk: Any) -> Source:
    volume = {"name": "one", "hostDisk": {"path": str(path), "type": "Disk", **host_disk}}
    vmi = build_guest({"devices": {"disks": [{"name": "one"}]}}, volumes=[volume])
    roots = [str(tmp_path / "other"), str(tmp_path / "allowed")]
    return prepare_volumes(vmi, {}, str(tmp_path / "guest"), host_disk_roots=roots)["one"]


def test_existing_host_disk_is_used_unchanged(tmp_path: Path, root: Path) -> None:
    (root / "disk.img").write_bytes(b"x" * 8192)
    source = prepare(tmp_path, root / "disk.img")
    assert (source.path, source.format, source.read_only) == (str(root / "disk.img"), "raw", False)


def test_resolved_host_disk_path_is_used(tmp_path: Path) -> None:
    found = tmp_path / "elsewhere.img"
    found.write_bytes(b"x" * 4096)
    volume = {"name": "one", "hostDisk": {"path": "/no/such/file", "type": "Disk"}}
    vmi = build_guest({"devices": {"disks": [{"name": "one"}]}}, volumes=[volume])
    assert prepare_volumes(vmi, {"one": str(found)}, str(tmp_path / "guest"))["one"].path == str(found)


def test_missing_host_disk_is_created_once(tmp_path: Path, root: Path) -> None:
    for content in (b"\0", b"x"):
        source = prepare(tmp_path, root / "disk.img", type="DiskOrCreate", capacity="1Gi")
        with Path(source.path).open("r+b") as file:
            assert file.read(1) == content
            file.seek(0)
            file.write(b"x")
    found = (root / "disk.img").stat()
    assert (found.st_size, found.st_mode & 0o777) == (1 << 30, 0o600)
    assert found.st_blocks * 512 < 1 << 20
    with (root / "disk.img").open("rb") as file:
        assert file.read(1) == b"x"


def link(root: Path) -> Path:
    (root.parent / "secret").write_bytes(b"secret")
    (root / "link").symlink_to(root.parent / "secret")
    return root / "link"


def link_directory(root: Path) -> Path:
    (root / "out").symlink_to(root.parent)
    return root / "out" / "new.img"


def make_device(root: Path) -> Path:
    os.mkfifo(root / "pipe")
    return root / "pipe"


PROBLEMS: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "elsewhere": (lambda _: "/etc/passwd", {}, "path", "is not in a directory that this host allows"),
    "path with ..": (lambda root: f"{root}/../secret", {}, "path", "is not in a directory that this host allows"),
    "relative path": (lambda _: "disk.img", {}, "path", "is not in a directory that this host allows"),
    "link to a file outside": (link, {}, "path", "is not in a directory that this host allows"),
    "link to a directory outside": (
        link_directory,
        {"type": "DiskOrCreate", "capacity": "1Mi"},
        "path",
        "is not in a directory that this host allows",
    ),
    "path with the prefix of a root": (lambda root: f"{root}-not", {}, "path", "is not in a directory"),
    "missing": (lambda root: root / "disk.img", {}, "path", "does not exist"),
    "directory": (lambda root: root, {}, "path", "is not a file"),
    "named pipe": (make_device, {}, "path", "is not a file"),
    "no capacity": (lambda root: root / "new", {"type": "DiskOrCreate"}, "capacity", "above zero"),
    "too large": (lambda root: root / "new", {"type": "DiskOrCreate", "capacity": "1Ei"}, "capacity", "of free space"),
    "missing directory": (
        lambda root: root / "none" / "new",
        {"type": "DiskOrCreate", "capacity": "1Mi"},
        "path",
        "does not exist",
    ),
    "unknown type": (lambda root: root / "new", {"type": "Block"}, "type", "Disk or DiskOrCreate"),
}


@pytest.mark.parametrize(("path", "host_disk", "field", "message"), PROBLEMS.values(), ids=PROBLEMS)
def test_host_disk_path_that_is_not_allowed_is_refused(
    tmp_path: Path, root: Path, path: Any, host_disk: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(VolumeError) as caught:
        prepare(tmp_path, path(root), **host_disk)
    (problem,) = caught.value.problems
    assert problem.field == f"spec.volumes[0].hostDisk.{field}"
    assert message in problem.reason
    assert not (root.parent / "new.img").exists()
