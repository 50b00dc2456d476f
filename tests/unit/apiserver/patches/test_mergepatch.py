"""Merge patches follow RFC 7386, copy only what they change and do not modify their inputs."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.trees import KEYS, TREES, VALUES

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.mergepatch import patch_merge

# The cases of RFC 7386, appendix A, whose result is an object.
CASES: dict[str, tuple[JsonObject, Any, JsonObject]] = {
    "a value is replaced": ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    "a value is added": ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    "null removes": ({"a": "b"}, {"a": None}, {}),
    "null keeps other members": ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    "null for a missing member": ({"a": "b"}, {"z": None}, {"a": "b"}),
    "value replaces a list": ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    "list replaces a value": ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    "objects are merged": ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    "lists are replaced": ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    "nulls in lists are kept": ({"a": [1, 2]}, {"a": [None]}, {"a": [None]}),
    "existing null is kept": ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    "object replaces a list": ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    "nulls of new objects are dropped": ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    "true is not 1": ({"a": 1}, {"a": True}, {"a": True}),
    "empty patch": ({"a": 1}, {}, {"a": 1}),
}


@pytest.mark.parametrize(("tree", "patch", "expected"), CASES.values(), ids=CASES)
def test_merge_patch_is_applied(tree: JsonObject, patch: JsonObject, expected: JsonObject) -> None:
    before = deepcopy((tree, patch))
    merged = patch_merge(tree, patch)
    assert merged == expected
    assert [type(value) for value in merged.values()] == [type(value) for value in expected.values()]
    assert (tree, patch) == before


@pytest.mark.parametrize("patch", [[], "x", 1, None, True])
def test_merge_patch_must_be_an_object(patch: object) -> None:
    with pytest.raises(StatusError, match=r"^error decoding patch: ") as caught:
        patch_merge({}, patch)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


def test_merge_patch_copies_only_the_parents_of_changes() -> None:
    tree: JsonObject = {"metadata": {"labels": {"a": "1"}}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}}
    merged = patch_merge(tree, {"spec": {"cpu": {"guest": 2}}})
    assert merged["metadata"] is tree["metadata"]
    assert merged["spec"]["memory"] is tree["spec"]["memory"]


def test_merge_patch_without_changes_returns_the_same_tree() -> None:
    tree = {"spec": {"cpu": {"guest": 1}}, "status": {}}
    assert patch_merge(tree, {"spec": {"cpu": {"guest": 1}, "gone": None}, "status": {}}) is tree


def diff(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return the merge patch that turns the old tree into the new one."""
    patch: JsonObject = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = diff(before, value)
        elif key not in old or before != value or type(before) is not type(value):
            patch[key] = value
    return patch


def merge_literally(target: Any, patch: Any) -> Any:
    """Implement RFC 7386, section 2, literally."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge_literally(target.get(name), value)
    return target


PATCHES: st.SearchStrategy[JsonObject] = st.recursive(
    st.dictionaries(KEYS, VALUES | st.none(), max_size=3),
    lambda patches: st.dictionaries(KEYS, patches, max_size=2),
    max_leaves=4,
)


@given(old=TREES, new=TREES)
def test_merge_patch_of_a_difference_gives_the_new_tree(old: JsonObject, new: JsonObject) -> None:
    assert patch_merge(old, diff(old, new)) == new


@given(tree=TREES, patch=PATCHES)
def test_merge_patch_matches_rfc_7386_and_does_not_modify_its_inputs(tree: JsonObject, patch: JsonObject) -> None:
    before = deepcopy((tree, patch))
    assert patch_merge(tree, patch) == merge_literally(tree, patch)
    assert (tree, patch) == before


@given(tree=TREES, patch=PATCHES)
def test_merge_patch_is_idempotent(tree: JsonObject, patch: JsonObject) -> None:
    once = patch_merge(tree, patch)
    assert patch_merge(once, patch) == once
