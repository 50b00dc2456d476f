"""
Sets of field paths, represented as in `fieldsV1`, so that stored sets need no decoding.

A key is one step (`f:` field, `k:` item by keys, `v:` item by value, `i:` item by index). A node is in the set if it is
empty or has the key `.`; other nodes only contain paths below them. Sets are immutable: results share unchanged nodes
with the arguments, and an operation that changes nothing returns the same set.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from virtshape.api.model import JsonObject

FieldSet: TypeAlias = dict[str, "FieldSet"]
Path = tuple[str, ...]

SELF: Final = "."
"""The key that marks a node with children as a member of the set."""

_encoder = msgspec.json.Encoder(order="sorted")


class FieldSetError(ValueError):
    """A value is not a valid field set."""


def parse_fields(tree: object) -> FieldSet:
    """Return the field set in `fieldsV1` from a client; steps of an unknown type are dropped."""
    fields = _parse_node(tree)
    return {step: node for step, node in fields.items() if step != SELF}


def key_step(keys: JsonObject) -> str:
    """Return the step to the list item with these keys."""
    return "k:" + _encoder.encode(keys).decode()


def value_step(value: object) -> str:
    """Return the step to the list item with this value."""
    return "v:" + _encoder.encode(value).decode()


def is_member(node: FieldSet) -> bool:
    """Return True if a node itself is in the set."""
    return not node or SELF in node


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths in either set."""
    if not one and other:
        return other
    result = one
    for key, node in other.items():
        mine = one.get(key)
        united = node if mine is None else _unite(mine, node)
        if united is not mine:
            result = dict(one) if result is one else result
            result[key] = united
    return result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths in both sets."""
    result: FieldSet = {}
    for key, node in other.items():
        mine = one.get(key)
        if mine is not None and (both := _intersect(mine, node)) is not None:
            result[key] = both
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the paths of the first set that are not in the second; paths below a removed path are kept."""
    result = one
    for key, node in other.items():
        mine = one.get(key)
        if mine is None or (rest := _subtract(mine, node)) is mine:
            continue
        result = dict(one) if result is one else result
        if rest is None:
            del result[key]
        else:
            result[key] = rest
    return result


def paths(fields: FieldSet) -> Iterator[Path]:
    """Yield the paths of a set in alphabetical order, all paths at one level before the paths below them."""
    return _walk(fields, ())


def format_fields(path: Path) -> str:
    """Format a path for messages, such as `.spec.ports[port=80,protocol="TCP"].name`."""
    return "".join(_format_step(step) for step in path)


def _walk(fields: FieldSet, above: Path) -> Iterator[Path]:
    nodes = [(key, node) for key, node in sorted(fields.items()) if key != SELF]
    yield from ((*above, key) for key, node in nodes if is_member(node))
    for key, node in nodes:
        yield from _walk(node, (*above, key))


def _unite(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one:
        return one if not other else other if SELF in other else {SELF: {}, **other}
    if not other:
        return one if SELF in one else {SELF: {}, **one}
    return union(one, other)


def _intersect(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one or not other:
        return {} if is_member(one) and is_member(other) else None
    both = intersection(one, other)
    return _normal(both) if both else None


def _subtract(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one:
        return None if is_member(other) else one
    if not other:
        return {key: node for key, node in one.items() if key != SELF} if SELF in one else one
    rest = difference(one, other)
    return _normal(rest) if rest else None


def _parse_node(tree: object) -> FieldSet:
    if not isinstance(tree, dict):
        raise FieldSetError(f"a field set must be an object, not a {type(tree).__name__}")
    fields: FieldSet = {}
    for key, below in tree.items():
        if (step := _parse_step(key)) is not None:
            node = _normal(_parse_node(below))
            fields[step] = _unite(fields[step], node) if step in fields else node
    return fields


def _normal(node: FieldSet) -> FieldSet:
    return {} if len(node) == 1 and SELF in node else node


def _parse_step(key: str) -> str | None:
    prefix, name = key[:2], key[2:]
    try:
        match prefix:
            case "f:" | ".":
                return key
            case "k:":
                return key_step(msgspec.json.decode(name, type=JsonObject))
            case "v:":
                return value_step(msgspec.json.decode(name))
            case "i:":
                return f"i:{int(name)}"
            case _:
                return None
    except (ValueError, msgspec.MsgspecError) as error:
        raise FieldSetError(f"{key} is not a valid field step: {error}") from error


def _format_step(step: str) -> str:
    prefix, name = step[:2], step[2:]
    match prefix:
        case "f:":
            return f".{name}"
        case "k:":
            keys: JsonObject = msgspec.json.decode(name)
            return "[" + ",".join(f"{key}={_encoder.encode(value).decode()}" for key, value in keys.items()) + "]"
        case "v:":
            return f"[={name}]"
        case _:
            return f"[{name}]"
