"""Limits of docs/limits.md that have no other test."""

import asyncio
from pathlib import Path

import pytest
from tests.support.containers import build_index, build_layer, build_layout, digest, write_archive, write_tree

from virtshape.api.codec import object_from_tree
from virtshape.api.diagnosis import MAX_PROBLEMS
from virtshape.api.problems import DecodeError
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.jsonpatch import MAX_COPIED_BYTES, patch_json
from virtshape.apiserver.uploads import receiving
from virtshape.apiserver.uploads.route import find_upload
from virtshape.launcher.images import bundle, layers
from virtshape.launcher.images.containerdisk import ContainerImages
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.volumes import files
from virtshape.launcher.volumes.task import UnusableVolumeError

NAME = "registry.example/team/disk:1"


def test_layer_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_ENTRIES", 3)
    layer = build_layer({f"etc/{number}": b"x" for number in range(6)})
    source = write_tree(tmp_path / "layout", build_layout({"": [layer]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="more than 3 entries"):
        images.fetch_disk(NAME)


def test_image_archive_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 3)
    layout = build_layout({"": [build_layer({"disk/one.img": b"x" * 512})]})
    source = write_archive(tmp_path / "image.tar", layout | {f"other/{number}": b"" for number in range(3)})
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="more than 3 entries"):
        images.fetch_disk(NAME)


def test_layer_that_unpacks_to_too_many_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_OTHER_BYTES", 1024)
    layer = build_layer({"usr/other": b"x" * 1024 * 1024, "disk/one.img": b"x" * 512})
    source = write_tree(tmp_path / "layout", build_layout({"": [layer]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False, limit=4096)
    with pytest.raises(RefusedImageError, match="bytes"):
        images.fetch_disk(NAME)


async def test_upload_that_stalls_is_ended_with_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receiving, "STALL_SECONDS", 0.05)

    async def read_nothing() -> bytes:
        await asyncio.sleep(60)
        return b""

    async def upload() -> None:
        route = find_upload("/v1beta1/upload")
        assert route is not None
        async for _ in receiving.list_pieces(read_nothing, route, "application/octet-stream"):
            pytest.fail("a piece arrived")

    with pytest.raises(StatusError, match=r"no data received for 0\.05 seconds") as refused:
        await upload()
    assert refused.value.code == 408


IMAGE_LIMITS = {
    "files": ("MAX_FILES", {f"disk/{number}": b"x" for number in range(4)}, "more than 3 files where one is wanted"),
    "hidden names": (
        "MAX_HIDDEN_BYTES",
        {"etc/.wh.passwd": b"", "disk/one.img": b"x" * 512},
        "hides more than 3 bytes",
    ),
}


@pytest.mark.parametrize(("constant", "content", "message"), IMAGE_LIMITS.values(), ids=IMAGE_LIMITS)
def test_image_with_too_many_files_or_whiteouts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, content: dict[str, bytes], message: str
) -> None:
    monkeypatch.setattr(layers, constant, 3)
    source = write_tree(tmp_path / "layout", build_layout({"": [build_layer(content)]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match=message):
        images.fetch_disk(NAME)


def test_short_whiteouts_count_with_their_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MAX_HIDDEN_BYTES", 50_000)
    content = {f".wh.{number}": b"" for number in range(1000)}
    source = write_tree(tmp_path / "layout", build_layout({"": [build_layer(content)]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="hides more than 50000 bytes"):
        images.fetch_disk(NAME)


def test_disk_of_too_large_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 8)
    (tmp_path / "key").write_bytes(b"x" * 9)
    with pytest.raises(UnusableVolumeError, match="larger than 8 bytes"):
        files.read_files(tmp_path)


def test_number_of_reported_problems_is_limited() -> None:
    unknown = {f"field{number}": 1 for number in range(MAX_PROBLEMS + 50)}
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec": unknown}
    with pytest.raises(DecodeError) as refused:
        object_from_tree(tree)
    assert len(refused.value.causes) == MAX_PROBLEMS


def test_bytes_copied_by_json_patch_operations_are_limited() -> None:
    large = {"a": "x" * (MAX_COPIED_BYTES // 2)}
    copies = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(2)]
    assert patch_json(large, copies[:1]).keys() == {"a", "b0"}
    with pytest.raises(StatusError) as refused:
        patch_json(large, copies)
    assert refused.value.code == 422


def test_depth_of_image_indexes_is_limited(tmp_path: Path) -> None:
    files = build_layout({"": [build_layer({"disk/one.img": b"x" * 512})]})
    for _ in range(4):
        inner = files["index.json"]
        files[f"blobs/{digest(inner).replace(':', '/')}"] = inner
        files["index.json"] = build_index({"": inner})
    source = write_tree(tmp_path / "layout", files)
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="are nested too deeply"):
        images.fetch_disk(NAME)
