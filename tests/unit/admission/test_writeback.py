"""Changes that admission makes are merged into the object that the client sent."""

from typing import Any

import pytest

from virtshape.admission.writeback import overlay

CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "nothing changed": ({"a": "1024Mi"}, {"a": "1Gi"}, {"a": "1Gi"}, {"a": "1024Mi"}),
    "added member": ({"a": "1024Mi"}, {"a": "1Gi"}, {"a": "1Gi", "b": 1}, {"a": "1024Mi", "b": 1}),
    "removed member": ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"b": 2}, {"b": 2}),
    "member that is not rendered": ({"a": 1, "x": []}, {"a": 1}, {"a": 2}, {"a": 2, "x": []}),
    "nested member": ({"a": {"b": "01"}}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": "01", "c": 2}}),
    "changed item": (
        {"a": [{"b": "01"}]},
        {"a": [{"b": 1}]},
        {"a": [{"b": 1, "c": 2}]},
        {"a": [{"b": "01", "c": 2}]},
    ),
    "added item": ({"a": ["01"]}, {"a": [1]}, {"a": [1, 2]}, {"a": ["01", 2]}),
    "removed items": ({"a": [1, 2]}, {"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
    "value of another type": ({"a": 1}, {"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
}


@pytest.mark.parametrize(("tree", "before", "after", "expected"), CASES.values(), ids=CASES)
def test_only_fields_that_admission_changed_are_merged_into_the_sent_object(
    tree: Any, before: Any, after: Any, expected: Any
) -> None:
    assert overlay(tree, before, after) == expected
