"""
Constraints on custom resources beyond field types: unique list items, enums, validation rules.

They are compiled once per kind from the structs, so that only constrained fields are visited.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import inspect

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.path import Part, format_path
from virtshape.api.schema import inspect_struct, write_struct
from virtshape.api.validation.normalize import NO_FIELD
from virtshape.api.validation.violation import duplicate_value, invalid_value, show_value, unsupported_value

Path = tuple[Part, ...]

_STRUCT: Final = "$struct"


class Rule(NamedTuple):
    """A validation rule of a field."""

    field: str
    type: type
    holds: Callable[[Any], bool]
    message: str


_RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "ContainerPathVolumeSource": (
        Rule("path", str, lambda path: path.startswith("/"), "path must be absolute (start with '/')"),
        Rule("readOnly", bool, lambda flag: flag is True, "readOnly must be true, write access is not supported"),
    ),
}
_CHOICES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "DomainSpec": {"rebootPolicy": ("Reboot", "Terminate")},
}

# After these problems, rules are skipped, because rules expect valid values.
_BLOCKING: Final = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_UNCHECKED: Final = invalid_value(
    NO_FIELD,
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


class _Field(NamedTuple):
    """The keys that make a field's items unique, if any, and the checks of its value or items."""

    keys: tuple[str, ...] | None
    node: "_Node"


class _Node(NamedTuple):
    """The checks of a struct and its fields."""

    rules: tuple[Rule, ...]
    choices: dict[str, tuple[str, ...]]
    fields: dict[str, _Field]
    has_rules: bool


_NOTHING: Final = _Node((), {}, {}, has_rules=False)
_nodes: dict[type, _Node] = {}


def check_constraints(tree: JsonObject, kind: Kind, found: list[FieldError]) -> list[FieldError]:
    """Return the problems already found, followed by the constraints that a custom resource violates."""
    node = _nodes.get(kind.struct) or _get_node(inspect_struct(kind.struct))
    causes, broken = list(found), list[FieldError]()
    _check(tree, node, (), causes, broken)
    if node.has_rules and any(cause.reason in _BLOCKING for cause in causes):
        return [*causes, _UNCHECKED]
    return causes + broken


def _check(value: JsonObject, node: _Node, at: Path, causes: list[FieldError], broken: list[FieldError]) -> None:
    """Add violations of enums and uniqueness to `causes`, and violated rules to `broken`."""
    for name, supported in node.choices.items():
        chosen = value.get(name)
        if isinstance(chosen, str) and chosen not in supported:
            causes.append(unsupported_value(format_path((*at, name)), chosen, supported))
    for rule in node.rules:
        found = value.get(rule.field)
        if isinstance(found, rule.type) and not rule.holds(found):
            broken.append(invalid_value(format_path((*at, rule.field)), found, rule.message))
    for name, held in value.items():
        if not held or (field := node.fields.get(name)) is None:
            continue
        keys, inner = field
        if keys is not None and isinstance(held, list) and len(held) > 1:
            causes += _check_items(held, keys, (*at, name))
        if inner is _NOTHING:
            continue
        if isinstance(held, list):
            for index, item in enumerate(held):
                if isinstance(item, dict):
                    _check(item, inner, (*at, name, index), causes, broken)
        elif isinstance(held, dict):
            _check(held, inner, (*at, name), causes, broken)


def _check_items(items: list[Any], keys: tuple[str, ...], at: Path) -> Iterator[FieldError]:
    seen = set()
    for index, item in enumerate(items):
        identity = {key: item.get(key) for key in keys} if keys and isinstance(item, dict) else item
        text = show_value(identity)
        if text in seen:
            yield duplicate_value(format_path((*at, index)), identity)
        seen.add(text)


def _get_node(struct: inspect.StructType) -> _Node:
    node = _nodes.get(struct.cls)
    if node is None:
        _nodes[struct.cls] = _NOTHING  # for a recursive struct, whose inner levels are not checked
        node = _nodes[struct.cls] = _NOTHING if struct.cls is ObjectMeta else _compile(struct)
    return node


def _compile(struct: inspect.StructType) -> _Node:
    fields = {}
    for name, schema in write_struct(struct, _refer, texts=False).get("properties", {}).items():
        nested = schema.get("items", schema).get(_STRUCT)
        field = _Field(_read_keys(schema), _get_node(nested) if nested is not None else _NOTHING)
        if field.keys is not None or field.node is not _NOTHING:
            fields[name] = field
    rules, choices = _RULES.get(struct.cls.__name__, ()), _CHOICES.get(struct.cls.__name__, {})
    if not (rules or choices or fields):
        return _NOTHING
    return _Node(rules, choices, fields, bool(rules) or any(field.node.has_rules for field in fields.values()))


def _refer(struct: inspect.StructType) -> JsonObject:
    return {_STRUCT: struct}


def _read_keys(schema: JsonObject) -> tuple[str, ...] | None:
    match schema.get("x-kubernetes-list-type"):
        case "map":
            return tuple(schema["x-kubernetes-list-map-keys"])
        case "set":
            return ()
        case _:
            return None
