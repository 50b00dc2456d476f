"""The built-in catalog, except custom sizes, has the names, specs and labels of KubeVirt's common instance types."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from virtshape import catalog
from virtshape.api.codec import from_tree, to_tree
from virtshape.api.instancetype import v1beta1
from virtshape.api.model import JsonObject

Objects = dict[tuple[str, str], JsonObject]


@pytest.fixture(scope="module")
def reference() -> Objects:
    if "VIRTSHAPE_REFERENCE" not in os.environ:
        pytest.skip("VIRTSHAPE_REFERENCE is not the path of a folder with common-instancetypes.yaml")
    text = Path(os.environ["VIRTSHAPE_REFERENCE"], "common-instancetypes.yaml").read_text()
    trees = [tree for tree in yaml.load_all(text, yaml.CSafeLoader) if tree]
    structs = [from_tree(tree, getattr(v1beta1, tree["kind"])) for tree in trees]
    return _index([to_tree(struct) for struct in structs])


@pytest.fixture(scope="module")
def ours() -> Objects:
    return _index([to_tree(each) for each in catalog.load(version="v1beta1")])


def test_catalog_has_the_same_names_as_common_instancetypes(ours: Objects, reference: Objects) -> None:
    assert sorted(ours) == sorted(reference)


def test_catalog_specs_match_common_instancetypes(ours: Objects, reference: Objects) -> None:
    assert _differences(ours, reference, "spec") == []


def test_catalog_labels_match_common_instancetypes(ours: Objects, reference: Objects) -> None:
    assert _differences(ours, reference, "metadata", "labels") == []


def test_catalog_copies_no_annotation_text_from_common_instancetypes(ours: Objects, reference: Objects) -> None:
    texts = {text for tree in reference.values() for text in tree["metadata"]["annotations"].values()}
    assert [key for key, tree in ours.items() if texts & set(tree["metadata"]["annotations"].values())] == []


def _index(trees: list[JsonObject]) -> Objects:
    return {(tree["kind"], tree["metadata"]["name"]): tree for tree in trees}


def _differences(ours: Objects, reference: Objects, *path: str) -> list[str]:
    differences = []
    for key in sorted(ours.keys() & reference.keys()):
        mine, theirs = dict(_leaves(_part(ours[key], path))), dict(_leaves(_part(reference[key], path)))
        differences += [
            f"{key[1]}: {field} is {mine.get(field)!r}, in the reference {theirs.get(field)!r}"
            for field in sorted(mine.keys() | theirs.keys())
            if mine.get(field) != theirs.get(field)
        ]
    return differences


def _part(tree: JsonObject, path: tuple[str, ...]) -> JsonObject:
    for name in path:
        tree = tree[name]
    return tree


def _leaves(value: Any, field: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, child in value.items():
            yield from _leaves(child, f"{field}.{name}".lstrip("."))
    else:
        yield field, value
