"""JSON patches are applied completely or not at all, and do not modify their inputs."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.apiserver.trees import TREES, VALUES

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.apiserver.patches.jsonpatch import DEEPEST_POINTER, MAX_OPERATIONS, find_unknown_members, patch_json

Operations = list[JsonObject]


def op(name: str, path: str, **members: Any) -> JsonObject:
    return {"op": name, "path": path, **members}


def move(source: str, path: str) -> JsonObject:
    return {"op": "move", "from": source, "path": path}


def copy(source: str, path: str) -> JsonObject:
    return {"op": "copy", "from": source, "path": path}


APPLIED: dict[str, tuple[JsonObject, Operations, JsonObject]] = {
    "nothing": ({"a": 1}, [], {"a": 1}),
    "add a member": ({"a": 1}, [op("add", "/b", value=2)], {"a": 1, "b": 2}),
    "add replaces a member": ({"a": 1}, [op("add", "/a", value=2)], {"a": 2}),
    "add without a value": ({}, [op("add", "/a")], {"a": None}),
    "replace a missing member": ({"a": {}}, [op("replace", "/a/b", value=1)], {"a": {"b": 1}}),
    "copy a missing member": ({}, [copy("/a", "/b")], {"b": None}),
    "leading zero": ({"a": [1]}, [op("remove", "/a/00")], {"a": []}),
    "invalid escape": ({"~2": 1}, [op("remove", "/~2")], {}),
    "add null": ({}, [op("add", "/a", value=None)], {"a": None}),
    "add to a list": ({"a": [1, 3]}, [op("add", "/a/1", value=2)], {"a": [1, 2, 3]}),
    "add at the end of a list": ({"a": [1]}, [op("add", "/a/1", value=2)], {"a": [1, 2]}),
    "append": ({"a": [1]}, [op("add", "/a/-", value=2)], {"a": [1, 2]}),
    "append by -1": ({"a": [1]}, [op("add", "/a/-1", value=2)], {"a": [1, 2]}),
    "key that looks like an index": ({"a": {}}, [op("add", "/a/0", value=1)], {"a": {"0": 1}}),
    "escapes": ({"a/b": 1, "~": 1}, [op("remove", "/a~1b"), op("replace", "/~0", value=2)], {"~": 2}),
    "escapes are read once": ({}, [op("add", "/~01", value=1)], {"~1": 1}),
    "empty key": ({"": {"": 1}}, [op("replace", "//", value=2)], {"": {"": 2}}),
    "remove a member": ({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}),
    "remove an item": ({"a": [1, 2]}, [op("remove", "/a/0")], {"a": [2]}),
    "remove the last item": ({"a": [1, 2]}, [op("remove", "/a/-1")], {"a": [1]}),
    "replace": ({"a": {"b": [1]}}, [op("replace", "/a/b/0", value={})], {"a": {"b": [{}]}}),
    "replace the root": ({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}),
    "move": ({"a": {"b": 1}}, [move("/a/b", "/c")], {"a": {}, "c": 1}),
    "move in a list": ({"a": [1, 2, 3]}, [move("/a/0", "/a/2")], {"a": [2, 3, 1]}),
    "move to the same path": ({"a": 1}, [move("/a", "/a")], {"a": 1}),
    "copy": ({"a": {"b": 1}}, [copy("/a", "/c")], {"a": {"b": 1}, "c": {"b": 1}}),
    "copy into itself": ({"a": {}}, [copy("/a", "/a/a"), copy("/a", "/a/b")], {"a": {"a": {}, "b": {"a": {}}}}),
    "copies are independent": ({"a": {}}, [copy("/a", "/b"), op("add", "/a/x", value=1)], {"a": {"x": 1}, "b": {}}),
    "test": ({"a": [1, {"b": None}]}, [op("test", "/a", value=[1.0, {"b": None}])], {"a": [1, {"b": None}]}),
    "test for null": ({"a": 1}, [op("test", "/b", value=None)], {"a": 1}),
    "value used twice": (
        {},
        [op("add", "/a", value={"x": []}), op("add", "/a/x/-", value=1), op("test", "/a", value={"x": [1]})],
        {"a": {"x": [1]}},
    ),
    "as in Kubernetes": (
        {"metadata": {"labels": {"a": "1"}}, "spec": {"cpu": {"guest": 1}}},
        [
            op("replace", "/spec/cpu/guest", value=4),
            op("add", "/metadata/labels/b~1c", value="2"),
            op("remove", "/metadata/labels/a"),
        ],
        {"metadata": {"labels": {"b/c": "2"}}, "spec": {"cpu": {"guest": 4}}},
    ),
}

REFUSED: dict[str, tuple[JsonObject, Operations]] = {
    "failed test": ({"a": 1}, [op("test", "/a", value=9)]),
    "true is not 1": ({"a": 1}, [op("test", "/a", value=True)]),
    "test below a missing member": ({}, [op("test", "/a/b", value=None)]),
    "remove a missing member": ({"spec": {}}, [op("remove", "/spec/nope")]),
    "replace below a missing member": ({"spec": {}}, [op("replace", "/spec/a/b/c", value=1)]),
    "unknown operation": ({}, [op("frobnicate", "/spec")]),
    "no operation": ({}, [{"path": "/a"}]),
    "no path": ({}, [{"op": "remove"}]),
    "no from member": ({}, [op("copy", "/a")]),
    "move into itself": ({"a": {"b": {}}}, [move("/a", "/a/b/c")]),
    "move a missing member": ({}, [move("/a", "/b")]),
    "remove the root": ({}, [op("remove", "")]),
    "add the root": ({}, [op("add", "", value={})]),
    "result that is not an object": ({}, [op("replace", "", value=[])]),
    "inside a string": ({"a": "b"}, [op("add", "/a/0", value="c")]),
    "index beyond the list": ({"a": [1]}, [op("add", "/a/2", value=2)]),
    "negative index": ({"a": [1]}, [op("remove", "/a/-2")]),
    "dash for an existing item": ({"a": [1]}, [op("remove", "/a/-")]),
    "invalid pointer": ({"a": 1}, [op("remove", "a")]),
    "nested too deep": ({}, [op("add", "/a" * (DEEPEST_POINTER + 1), value=1)]),
    "copies that grow exponentially": (
        {"a": ["x" * 100]},
        [copy("/a", "/a/-") for _ in range(100)],
    ),
}

MALFORMED: dict[str, object] = {
    "object in place of a list": {"op": "add"},
    "list of strings": ["add"],
    "path that is not a string": [{"op": "add", "path": 1, "value": 1}],
}


@pytest.mark.parametrize(("tree", "operations", "expected"), APPLIED.values(), ids=APPLIED)
def test_json_patch_operations_are_applied(tree: JsonObject, operations: Operations, expected: JsonObject) -> None:
    before = deepcopy((tree, operations))
    assert patch_json(tree, operations) == expected
    assert (tree, operations) == before


@pytest.mark.parametrize(("tree", "operations"), REFUSED.values(), ids=REFUSED)
def test_inapplicable_json_patch_operation_is_rejected(tree: JsonObject, operations: Operations) -> None:
    before = deepcopy(tree)
    with pytest.raises(StatusError) as caught:
        patch_json(tree, [op("add", "/changed", value=1), *operations])
    error = caught.value
    assert (error.code, error.reason, error.causes) == (422, "Invalid", ())
    assert error.message == "the server rejected our request due to an error in our request"
    assert tree == before


def test_null_json_patch_changes_nothing() -> None:
    tree = {"a": 1}
    assert patch_json(tree, None) is tree


@pytest.mark.parametrize("operations", MALFORMED.values(), ids=MALFORMED)
def test_malformed_json_patch_is_rejected(operations: object) -> None:
    with pytest.raises(StatusError, match=r"^error decoding patch: json: cannot unmarshal") as caught:
        patch_json({}, operations)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")


def test_number_of_json_patch_operations_is_limited() -> None:
    operations = [op("test", "/a", value=1)] * MAX_OPERATIONS
    assert patch_json({"a": 1}, operations) == {"a": 1}
    with pytest.raises(StatusError, match="maximum operations in a JSON patch is 10000, got 10001") as caught:
        patch_json({"a": 1}, [*operations, operations[0]])
    assert (caught.value.code, caught.value.reason) == (413, "RequestEntityTooLarge")


def test_json_patch_copies_only_the_parents_of_changes() -> None:
    tree: JsonObject = {"a": {"b": {}}, "c": {"d": {}}}
    patched = patch_json(tree, [op("add", "/a/x", value=1), op("test", "/c/d", value={})])
    assert patched["a"]["b"] is tree["a"]["b"]
    assert patched["c"] is tree["c"]


def test_unknown_members_of_json_patch_operations_are_reported() -> None:
    operations = [op("remove", "/a"), op("remove", "/b", foo=1)]
    assert find_unknown_members(operations) == ['json patch unknown field "[1].foo"']


def list_pointers(value: Any, at: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    pairs: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [(str(index), item) for index, item in enumerate(value)]
    return [at, *(pointer for key, item in pairs for pointer in list_pointers(item, (*at, key)))]


def write_pointer(steps: tuple[str, ...]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def follow(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        value = value[int(step) if isinstance(value, list) else step]
    return value


def perform_simply(tree: JsonObject, name: str, steps: tuple[str, ...], value: Any) -> JsonObject:
    """Apply one operation to a full copy of a tree; the path of the operation must exist."""
    tree = deepcopy(tree)
    box, last = follow(tree, steps[:-1]), steps[-1]
    place: Any = int(last) if isinstance(box, list) else last
    if name == "remove":
        del box[place]
    elif name == "add" and isinstance(box, list):
        box.insert(place, deepcopy(value))
    else:
        box[place] = deepcopy(value)
    return tree


@given(tree=TREES, data=st.data())
def test_json_patch_equals_its_operations_on_a_full_copy(tree: JsonObject, data: st.DataObject) -> None:
    expected, operations = tree, []
    for _ in range(data.draw(st.integers(0, 6))):
        pointers = list_pointers(expected)[1:]
        assume(pointers)
        steps = data.draw(st.sampled_from(pointers))
        name = data.draw(st.sampled_from(["add", "remove", "replace", "copy", "move"]))
        value = data.draw(VALUES)
        operation = op(name, write_pointer(steps), value=value)
        if name in ("copy", "move"):
            source = data.draw(st.sampled_from(pointers))
            assume(name == "copy" or (len(source) == 1 and steps[:1] != source))
            value = follow(expected, source)
            operation = {"op": name, "from": write_pointer(source), "path": write_pointer(steps)}
            if name == "move":
                expected = perform_simply(expected, "remove", source, None)
        expected = perform_simply(expected, "add" if name in ("copy", "move") else name, steps, value)
        operations.append(operation)
    before = deepcopy((tree, operations))
    assert patch_json(tree, operations) == expected
    assert (tree, operations) == before
