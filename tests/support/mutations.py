"""
Hypothesis strategies for API objects as JSON: objects generated from structs, and mutations of given objects.

A mutation removes, replaces, renames or copies a value, or adds a field of the struct.
"""

import copy
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st
from tests.support.strategies import structs

from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject

Path = tuple[str | int, ...]

ODD_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, 3, -1, 2**31, 0.5, "", "x", "a b", "1Gi", "0", "small", "virtio", "sata", [], {}, ["x"]]
).map(copy.deepcopy)  # later mutations must not change the samples
LABELS: st.SearchStrategy[dict[str, str]] = st.dictionaries(
    st.sampled_from(["app", "a.b/c", "a/b/c", "-x", "kubevirt.io/created-by", "é"]),
    st.sampled_from(["", "web", "a b", "x" * 64]),
    max_size=2,
)
METADATA: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["fuzzed", "fuzzed", "fuzzed", "Bad_Name", "x" * 254]),
        "generateName": st.sampled_from(["fuzzed-", "Bad_"]),
        "labels": LABELS,
        "annotations": LABELS,
        "finalizers": st.lists(st.sampled_from(["example.com/x", "bare", "a/b/c", "orphan", "foregroundDeletion"])),
    },
)


def list_paths(tree: Any, at: Path = ()) -> list[Path]:
    """Return the paths of all values in a tree, without the root."""
    steps: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path for step, inner in steps for path in [(*at, step), *list_paths(inner, (*at, step))]]


def read(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


@st.composite
def generated(draw: st.DrawFn, kind: Kind) -> JsonObject:
    """Return an object of the kind's struct with generated metadata."""
    fixed = {"api_version": kind.api_version, "kind": kind.kind}
    tree: JsonObject = to_tree(draw(structs(kind.struct, **fixed)))
    tree.pop("status", None)
    return {
        **tree,
        "metadata": draw(
            st.sampled_from([st.builds(dict, name=st.just("fuzzed"))] * 3 + [METADATA]).flatmap(lambda chosen: chosen)
        ),
    }


@st.composite
def mutated(draw: st.DrawFn, originals: list[JsonObject]) -> JsonObject:
    """Return one of the objects with up to four mutations of its metadata and spec."""
    original = draw(st.sampled_from(originals))
    kind = find_kind(original["apiVersion"], original["kind"])
    assert kind is not None
    tree = copy.deepcopy(original)
    tree["metadata"] = {**tree["metadata"], "name": "fuzzed"}
    for _ in range(draw(st.integers(0, 4))):
        _mutate(draw, tree, originals, kind)
    tree["metadata"].pop("namespace", None)
    return tree


def _mutate(draw: st.DrawFn, tree: JsonObject, originals: list[JsonObject], kind: Kind) -> None:
    paths = [path for path in list_paths(tree) if path[0] == "spec" and len(path) > 1]
    mutation = draw(st.sampled_from(["metadata", "remove", "replace", "rename", "copy", "borrow", "add", "add"]))
    if mutation == "metadata":
        tree["metadata"] = draw(METADATA)
    elif mutation == "borrow":  # copy a part of another object's spec
        other = draw(st.sampled_from(originals))
        path = draw(st.sampled_from([path for path in list_paths(other) if path[0] == "spec"]))
        _put(tree, path, copy.deepcopy(read(other, path)))
    elif mutation == "add":  # add a part of a generated object
        other = draw(generated(kind))
        path = draw(st.sampled_from([path for path in list_paths(other) if path[0] == "spec"] or [("spec",)]))
        _put(tree, path, read(other, path))
    elif paths:
        path = draw(st.sampled_from(paths))
        holder, step = read(tree, path[:-1]), path[-1]
        if mutation == "remove":
            del holder[step]
        elif mutation == "replace":
            holder[step] = draw(ODD_VALUES)
        elif mutation == "rename" and isinstance(step, str):
            holder[f"{step}s"] = holder.pop(step)
        elif mutation == "copy" and isinstance(holder, list):
            holder.append(copy.deepcopy(read(tree, path)))


def _put(tree: JsonObject, path: Path, value: Any) -> None:
    """Set a value; does nothing if a part of the path is another type or missing in a list."""
    holder: Any = tree
    for step, following in pairwise(path):
        if isinstance(holder, dict) and isinstance(step, str):
            holder = holder.setdefault(step, [] if isinstance(following, int) else {})
        elif isinstance(holder, list) and isinstance(step, int) and step < len(holder):
            holder = holder[step]
        else:
            return
    step = path[-1]
    if isinstance(holder, dict) and isinstance(step, str):
        holder[step] = value
    elif isinstance(holder, list) and isinstance(step, int):
        holder[step : step + 1] = [value]
