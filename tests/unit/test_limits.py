"""Limits of docs/limits.md that no other test reaches."""

from pathlib import Path

import pytest
from tests.containers import build_layer, build_layout, write_tree

from virtshape.api.codec import object_from_tree
from virtshape.api.diagnosis import MAX_PROBLEMS
from virtshape.api.problems import DecodeError
from virtshape.launcher.images import layers
from virtshape.launcher.images.containers import ContainerImages
from virtshape.launcher.images.errors import RefusedImageError
from virtshape.launcher.volumes import files
from virtshape.launcher.volumes.errors import UnusableVolumeError

NAME = "registry.example/team/disk:1"


def test_a_layer_with_too_many_entries_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "MOST_ENTRIES", 3)
    layer = build_layer({f"etc/{number}": b"x" for number in range(6)})
    source = write_tree(tmp_path / "layout", build_layout({"": [layer]}))
    images = ContainerImages(tmp_path / "cache", files={NAME: str(source)}, from_registries=False)
    with pytest.raises(RefusedImageError, match="more than 3 entries"):
        images.fetch_disk(NAME)


def test_a_disk_of_files_larger_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 8)
    (tmp_path / "key").write_bytes(b"x" * 9)
    with pytest.raises(UnusableVolumeError, match="more than 8 bytes"):
        files.read_files(tmp_path)


def test_an_answer_names_a_limited_number_of_problems() -> None:
    unknown = {f"field{number}": 1 for number in range(MAX_PROBLEMS + 50)}
    tree = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}, "spec": unknown}
    with pytest.raises(DecodeError) as refused:
        object_from_tree(tree)
    assert len(refused.value.problems) == MAX_PROBLEMS
