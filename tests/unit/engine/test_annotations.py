"""Annotations of instance types cannot be overridden; those of preferences can."""

import pytest
from tests.support.engine import apply_trees, list_conflicts

Annotations = dict[str, str]


@pytest.mark.parametrize(
    ("own", "given", "preferred", "result"),
    [
        pytest.param(None, {"a": "1"}, None, {"a": "1"}, id="instance type"),
        pytest.param(None, None, {"a": "1"}, {"a": "1"}, id="preference"),
        pytest.param({"a": "1"}, {"a": "1"}, None, {"a": "1"}, id="same value in both"),
        pytest.param({"b": "2"}, {"a": "1"}, None, {"a": "1", "b": "2"}, id="VM and instance type"),
        pytest.param({"a": "own"}, None, {"a": "1", "b": "1"}, {"a": "own", "b": "1"}, id="VM before preference"),
        pytest.param(
            None, {"a": "given"}, {"a": "1", "b": "1"}, {"a": "given", "b": "1"}, id="instance type before preference"
        ),
        pytest.param({"a": "own"}, {}, {}, {"a": "own"}, id="no annotations"),
    ],
)
def test_annotations_of_vm_instance_type_and_preference_are_merged(
    own: Annotations | None, given: Annotations | None, preferred: Annotations | None, result: Annotations
) -> None:
    shaped = apply_trees(None, {"annotations": given}, {"annotations": preferred}, annotations=own)
    assert shaped.conflicts == []
    assert shaped.metadata == {"annotations": result}


@pytest.mark.parametrize(
    ("own", "given", "clashes"),
    [
        ({"a": "1"}, {"a": "2"}, ["annotations.a"]),
        ({"a": ""}, {"a": "2"}, ["annotations.a"]),
        ({"a": "1", "b": "1", "c": "1"}, {"c": "2", "b": "1", "a": "2"}, ["annotations.a", "annotations.c"]),
        ({"a": "1"}, {"b": "2"}, []),
        ({}, {"b": "2"}, []),
    ],
)
def test_only_different_annotation_values_conflict(own: Annotations, given: Annotations, clashes: list[str]) -> None:
    assert list_conflicts({}, {"annotations": given}, annotations=own) == clashes
