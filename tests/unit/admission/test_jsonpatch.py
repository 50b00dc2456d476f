"""JSON patches that turn one tree into another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.admission.jsonpatch import create_json_patch
from virtshape.apiserver.patches.jsonpatch import patch_json

CASES: dict[str, tuple[Any, Any, list[dict[str, Any]]]] = {
    "equal trees": ({"a": 1}, {"a": 1}, []),
    "added member": ({}, {"a": {"b": 1}}, [{"op": "add", "path": "/a", "value": {"b": 1}}]),
    "removed member": ({"a": 1, "b": 2}, {"b": 2}, [{"op": "remove", "path": "/a"}]),
    "changed member": ({"a": {"b": 1}}, {"a": {"b": 2}}, [{"op": "replace", "path": "/a/b", "value": 2}]),
    "changed list item": ({"a": [1, 2]}, {"a": [1, 3]}, [{"op": "replace", "path": "/a/1", "value": 3}]),
    "longer list": ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
    "keys with special characters of JSON pointers": (
        {},
        {"kubevirt.io/a~b": "x"},
        [{"op": "add", "path": "/kubevirt.io~1a~0b", "value": "x"}],
    ),
    "true in place of 1": ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
}


@pytest.mark.parametrize(("before", "after", "patch"), CASES.values(), ids=CASES.keys())
def test_patch_has_the_expected_operations(before: Any, after: Any, patch: list[dict[str, Any]]) -> None:
    assert create_json_patch(before, after) == patch


TREES = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["x", "y"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b/c", "d~e"]), TREES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_applied_patch_gives_the_second_tree(before: Any, after: Any) -> None:
    assert patch_json(before, create_json_patch(before, after)) == after
