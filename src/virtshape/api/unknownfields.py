"""
Decode objects that have unknown fields, and restore these fields when the objects are encoded again.

Objects in files may have fields from a newer release, or custom fields. Callers warn about such fields but keep them.
All other problems raise DecodeError.
"""

from typing import Any, NamedTuple, TypeVar

from virtshape.api.codec import from_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.path import Part
from virtshape.api.problems import DecodeError

T = TypeVar("T")


class UnknownField(NamedTuple):
    """An unknown field: its path, its value and the problem to warn about."""

    at: tuple[Part, ...]
    value: Any
    problem: FieldError


Unknown = tuple[UnknownField, ...]


def decode_with_unknown(tree: Any, struct: type[T]) -> tuple[T, Unknown]:
    """Convert a tree to this struct and return unknown fields separately; raise DecodeError for other problems."""
    try:
        return from_tree(tree, struct), ()
    except DecodeError:
        unknown = _find_unknown(tree, struct)
        if unknown is None:
            raise
    return from_tree(_without(tree, {field.at for field in unknown}), struct), unknown


def restore(tree: Any, unknown: Unknown) -> Any:
    """Restore the unknown fields in the tree and return it; drop a field if its parent no longer exists."""
    for at, value, _ in unknown:
        parent = _find_parent(tree, at)
        if parent is not None:
            parent.setdefault(at[-1], value)
    return tree


def _find_unknown(tree: Any, struct: type) -> Unknown | None:
    # Imported here, because only errors need this module.
    from virtshape.api.diagnosis import walk

    problems = list(walk(tree, struct))
    if not all(problem.rule == "unknown-field" for _, problem in problems):
        return None
    return tuple(UnknownField(at, _value_at(tree, at), problem) for at, problem in problems)


def _value_at(tree: Any, at: tuple[Part, ...]) -> Any:
    for step in at:
        tree = tree[step]
    return tree


def _without(value: Any, gone: set[tuple[Part, ...]], at: tuple[Part, ...] = ()) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, gone, (*at, key)) for key, item in value.items() if (*at, key) not in gone}
    if isinstance(value, list):
        return [_without(item, gone, (*at, index)) for index, item in enumerate(value)]
    return value


def _find_parent(tree: Any, at: tuple[Part, ...]) -> dict[Part, Any] | None:
    for step in at[:-1]:
        match tree:
            case dict() if step in tree:
                tree = tree[step]
            case list() if isinstance(step, int) and step < len(tree):
                tree = tree[step]
            case _:
                return None
    return tree if isinstance(tree, dict) else None
