"""
Compare two values of the same kind, such as specs, field by field.

Quantities with the same amount are equal, and an empty list or map equals an absent one. An empty struct differs from
an absent one, because it can enable a feature.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from virtshape.api.codec import to_tree
from virtshape.api.model import Model
from virtshape.api.quantity import Quantity


class Change(NamedTuple):
    """A changed field with its old and new value; None means absent."""

    field: str
    then: Any
    now: Any


def compare_values(then: object, now: object, path: str) -> Iterator[Change]:
    """Yield a change for each field at or below the path that differs."""
    if isinstance(then, Model) and type(then) is type(now):
        for name, wire_name in zip(then.__struct_fields__, then.__struct_encode_fields__, strict=True):
            yield from compare_values(getattr(then, name), getattr(now, name), f"{path}.{wire_name}")
    elif isinstance(then, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*then, *now)):
            yield from compare_values(then.get(key), now.get(key), f"{path}[{key}]")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from compare_values(old, new, f"{path}[{number}]")
    elif _meaning(then) != _meaning(now):
        yield Change(path, to_tree(then), to_tree(now))


def _meaning(value: object) -> object:
    if isinstance(value, Quantity):
        return value.amount
    return None if isinstance(value, (list, dict)) and not value else value
