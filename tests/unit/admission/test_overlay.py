"""Overlay of changes on the tree that the client sent."""

from typing import Any

import pytest

from virtshape.admission.overlay import overlay

CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "nothing changed": ({"a": "1024Mi"}, {"a": "1Gi"}, {"a": "1Gi"}, {"a": "1024Mi"}),
    "a member added": ({"a": "1024Mi"}, {"a": "1Gi"}, {"a": "1Gi", "b": 1}, {"a": "1024Mi", "b": 1}),
    "a member removed": ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2}, {"b": 2}),
    "a member that is not rendered": ({"a": 1, "x": []}, {"a": 1}, {"a": 2}, {"a": 2, "x": []}),
    "a member further down": ({"a": {"b": "01"}}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": "01", "c": 2}}),
    "an item changed": (
        {"a": [{"b": "01"}]},
        {"a": [{"b": 1}]},
        {"a": [{"b": 1, "c": 2}]},
        {"a": [{"b": "01", "c": 2}]},
    ),
    "an item added": ({"a": ["01"]}, {"a": [1]}, {"a": [1, 2]}, {"a": ["01", 2]}),
    "items removed": ({"a": [1, 2]}, {"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
    "another sort of value": ({"a": 1}, {"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
}


@pytest.mark.parametrize(("tree", "before", "after", "expected"), CASES.values(), ids=CASES)
def test_only_changed_fields_are_written(tree: Any, before: Any, after: Any, expected: Any) -> None:
    assert overlay(tree, before, after) == expected
