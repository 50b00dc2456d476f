"""Field sets: set operations, and parsing and formatting as in managedFields."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.apiserver.managedfields.fieldset import (
    SELF,
    FieldSet,
    FieldSetError,
    Path,
    difference,
    format_fields,
    intersection,
    is_member,
    parse_fields,
    paths,
    union,
)

STEPS = st.sampled_from(["f:a", "f:b", "f:c.d/e", 'k:{"name":"x"}', 'v:"y"', "i:0"])
PATHS = st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=8)


def build(members: frozenset[Path]) -> FieldSet:
    fields: FieldSet = {}
    for path in members:
        node: FieldSet = fields
        for step in path:
            node = node.setdefault(step, {})
        node[SELF] = {}
    return parse_fields(fields)


@given(PATHS)
def test_field_set_built_from_paths_has_these_paths(members: frozenset[Path]) -> None:
    assert frozenset(paths(build(members))) == members


@given(PATHS)
def test_formatted_field_set_parses_to_the_same_set(members: frozenset[Path]) -> None:
    assert parse_fields(build(members)) == build(members)


@given(PATHS, PATHS)
def test_union_has_the_fields_of_both_sets(one: frozenset[Path], other: frozenset[Path]) -> None:
    assert union(build(one), build(other)) == build(one | other)


@given(PATHS, PATHS)
def test_intersection_has_the_common_fields(one: frozenset[Path], other: frozenset[Path]) -> None:
    assert intersection(build(one), build(other)) == build(one & other)


@given(PATHS, PATHS)
def test_difference_excludes_the_fields_of_the_other_set(one: frozenset[Path], other: frozenset[Path]) -> None:
    assert difference(build(one), build(other)) == build(one - other)


@given(PATHS, PATHS)
def test_field_set_operations_do_not_modify_their_arguments(one: frozenset[Path], other: frozenset[Path]) -> None:
    first, second = build(one), build(other)
    union(first, second), intersection(first, second), difference(first, second)
    assert (first, second) == (build(one), build(other))


@given(PATHS, PATHS)
def test_operation_without_changes_returns_the_same_field_set(one: frozenset[Path], other: frozenset[Path]) -> None:
    fields = build(one)
    assert union(fields, intersection(fields, build(other))) is fields
    assert difference(fields, build(other - one)) is fields


@pytest.mark.parametrize(
    ("node", "member"),
    [
        pytest.param({}, True, id="leaf"),
        pytest.param({".": {}, "f:a": {}}, True, id="node with itself and members"),
        pytest.param({"f:a": {}}, False, id="node with members only"),
    ],
)
def test_leaves_and_nodes_with_a_dot_are_members_of_a_field_set(node: FieldSet, member: bool) -> None:
    assert is_member(node) is member


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        pytest.param({"f:a": {".": {}}}, {"f:a": {}}, id="node with only itself"),
        pytest.param(
            {'k:{ "b": 1, "a": "x" }': {}}, {'k:{"a":"x","b":1}': {}}, id="keys in another order and with spaces"
        ),
        pytest.param({'v: "x"': {}}, {'v:"x"': {}}, id="value with spaces"),
        pytest.param({"i:007": {}}, {"i:7": {}}, id="index with leading zeros"),
        pytest.param({"x:new": {}, "f:a": {}}, {"f:a": {}}, id="unknown path element"),
        pytest.param({".": {}}, {}, id="root object"),
    ],
)
def test_field_set_of_a_client_is_normalized(sent: Any, read: FieldSet) -> None:
    assert parse_fields(sent) == read


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param([], id="list"),
        pytest.param({"f:a": 1}, id="number in place of a node"),
        pytest.param({"k:{": {}}, id="keys that are not JSON"),
        pytest.param({"k:1": {}}, id="keys that are not an object"),
        pytest.param({"v:x": {}}, id="value that is not JSON"),
        pytest.param({"i:x": {}}, id="index that is not a number"),
    ],
)
def test_invalid_field_set_is_rejected(sent: Any) -> None:
    with pytest.raises(FieldSetError):
        parse_fields(sent)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(("f:spec", "f:cpu", "f:guest"), ".spec.cpu.guest", id="fields"),
        pytest.param(("f:metadata", "f:labels", "f:a.b/c"), ".metadata.labels.a.b/c", id="a label"),
        pytest.param(
            ("f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:name"),
            '.ports[port=80,protocol="TCP"].name',
            id="an item by its keys",
        ),
        pytest.param(("f:finalizers", 'v:"x/y"'), '.finalizers[="x/y"]', id="an item by its value"),
        pytest.param(("f:args", "i:2"), ".args[2]", id="an item by its index"),
    ],
)
def test_field_set_path_is_formatted_as_in_kubernetes(path: Path, text: str) -> None:
    assert format_fields(path) == text
