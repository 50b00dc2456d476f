"""
API objects as JSON for tests: objects that Hypothesis generates from structs, and random mutations of objects.

A mutation replaces the metadata; removes, replaces, renames or copies a value; or adds a value of another object.
"""

import copy
from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any, Final

from hypothesis import strategies as st
from tests.support.strategies import structs

from virtshape.api.codec import to_tree
from virtshape.api.kinds import Kind, find_kind
from virtshape.api.model import JsonObject

Path = tuple[str | int, ...]

_MAX_MUTATIONS: Final = 4
_ODD_VALUES: Final[list[Any]] = [
    *(None, True, False, 0, 1, 3, -1, 2**31, 0.5),
    *("", "x", "a b", "1Gi", "0", "small", "virtio", "sata", [], {}, ["x"]),
]
_NAMES: Final = ["fuzzed", "fuzzed", "fuzzed", "Bad_Name", "x" * 254]
_GENERATED_NAMES: Final = ["fuzzed-", "Bad_"]
_LABEL_KEYS: Final = ["app", "a.b/c", "a/b/c", "-x", "kubevirt.io/created-by", "é"]
_LABEL_VALUES: Final = ["", "web", "a b", "x" * 64]
_FINALIZERS: Final = ["example.com/x", "bare", "a/b/c", "orphan", "foregroundDeletion"]
_MUTATIONS: Final = ["metadata", "rename", *["remove", "replace", "copy"] * 2, *["borrow"] * 6]
"""Kinds of mutations; those that mostly produce valid JSON of the kind are listed, and happen, more often."""


@st.composite
def generated(draw: st.DrawFn, kind: Kind) -> JsonObject:
    """Return an object of the kind's struct; a quarter of the objects have random metadata."""
    fixed = {"api_version": kind.api_version, "kind": kind.kind}
    tree: JsonObject = to_tree(draw(structs(kind.struct, **fixed)))
    tree.pop("status", None)
    random = draw(st.randoms(use_true_random=False))
    return {**tree, "metadata": _build_metadata(random) if random.randrange(4) == 0 else {"name": "fuzzed"}}


@st.composite
def mutated(draw: st.DrawFn, originals: list[JsonObject]) -> JsonObject:
    """Return one of the objects with mutations; half of them may add values of a generated object of the same kind."""
    original = draw(st.sampled_from(originals))
    kind = find_kind(original["apiVersion"], original["kind"])
    assert kind is not None
    donors = [draw(generated(kind))] if draw(st.booleans()) else originals
    return mutate(draw(st.randoms(use_true_random=False)), original, donors)


def mutate(random: Random, original: JsonObject, donors: Sequence[JsonObject]) -> JsonObject:
    """Return a copy with up to four mutations of its metadata and spec; donors of its kind may provide values."""
    tree = copy.deepcopy(original)
    tree["metadata"] = {**tree["metadata"], "name": "fuzzed"}
    same_kind = [donor for donor in donors if donor["kind"] == original["kind"]] or [original]
    for _ in range(random.randint(0, random.randint(0, _MAX_MUTATIONS))):
        _mutate_once(random, tree, same_kind)
    tree["metadata"].pop("namespace", None)
    return tree


def _mutate_once(random: Random, tree: JsonObject, donors: Sequence[JsonObject]) -> None:
    mutation = random.choice(_MUTATIONS)
    if mutation == "metadata":
        tree["metadata"] = _build_metadata(random)
    elif mutation == "borrow":
        donor = random.choice(donors)
        path = random.choice(_list_spec_paths(donor) or [("spec",)])
        _put(tree, path, copy.deepcopy(_read(donor, path)))
    else:
        paths = [path for path in _list_spec_paths(tree) if len(path) > 1]
        if paths:
            _change(random, mutation, tree, random.choice(paths))


def _change(random: Random, mutation: str, tree: JsonObject, path: Path) -> None:
    holder, step = _read(tree, path[:-1]), path[-1]
    if mutation == "remove":
        del holder[step]
    elif mutation == "replace":
        holder[step] = copy.deepcopy(random.choice(_ODD_VALUES))
    elif mutation == "rename" and isinstance(step, str):
        holder[f"{step}s"] = holder.pop(step)
    elif mutation == "copy" and isinstance(holder, list):
        holder.append(copy.deepcopy(_read(tree, path)))


def _build_metadata(random: Random) -> JsonObject:
    """Return metadata with any of the fields that clients set, valid or not."""
    fields: JsonObject = {
        "name": random.choice(_NAMES),
        "generateName": random.choice(_GENERATED_NAMES),
        "labels": _build_labels(random),
        "annotations": _build_labels(random),
        "finalizers": [random.choice(_FINALIZERS) for _ in range(random.randint(0, 4))],
    }
    return {name: value for name, value in fields.items() if random.randrange(2)}


def _build_labels(random: Random) -> dict[str, str]:
    return {random.choice(_LABEL_KEYS): random.choice(_LABEL_VALUES) for _ in range(random.randint(0, 2))}


def _list_spec_paths(tree: JsonObject) -> list[Path]:
    """Return the paths of the spec and of all values in it."""
    return [("spec",), *_list_paths(tree["spec"], ("spec",))] if "spec" in tree else []


def _list_paths(tree: Any, at: Path) -> list[Path]:
    steps: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path for step, inner in steps for path in [(*at, step), *_list_paths(inner, (*at, step))]]


def _read(tree: Any, path: Path) -> Any:
    for step in path:
        tree = tree[step]
    return tree


def _put(tree: JsonObject, path: Path, value: Any) -> None:
    """Set a value; do nothing if a part of the path has another type or is missing in a list."""
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
