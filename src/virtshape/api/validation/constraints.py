"""
Constraints on custom resources beyond field types: unique list items, enums, validation rules.

The constraints of a kind are compiled once from its structs, so that a check visits only constrained fields.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, get_args, get_origin

from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.path import Part, format_path
from virtshape.api.schema import MERGED_LISTS
from virtshape.api.validation.normalize import NO_FIELD
from virtshape.api.validation.violation import duplicate_value, invalid_value, show_value, unsupported_value

Path = tuple[Part, ...]


class Rule(NamedTuple):
    """A validation rule for a field; the rule applies only to values of the type `type`."""

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

# If one of these problems is found, validation rules are skipped, because they expect valid values.
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
    """The keys whose values must be unique in a list (None for no check), and the checks for the value or items."""

    keys: tuple[str, ...] | None
    node: "_Node"


class _Node(NamedTuple):
    """The checks for a struct and its fields."""

    rules: tuple[Rule, ...]
    choices: dict[str, tuple[str, ...]]
    fields: dict[str, _Field]
    has_rules: bool


_NOTHING: Final = _Node((), {}, {}, has_rules=False)
_nodes: dict[type, _Node] = {}


def check_constraints(tree: JsonObject, kind: Kind, found: list[FieldError]) -> list[FieldError]:
    """Return the problems already found, followed by an error for each constraint that the custom resource violates."""
    node = _get_node(kind.struct)
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


def _get_node(struct: type[Struct]) -> _Node:
    node = _nodes.get(struct)
    if node is None:
        _nodes[struct] = _NOTHING  # ends the recursion: inner levels of a recursive struct are not checked
        node = _nodes[struct] = _NOTHING if struct is ObjectMeta else _compile(struct)
    return node


def _compile(struct: type[Struct]) -> _Node:
    # The annotations are read directly: msgspec.inspect takes ten times as long for a VM, and all checks wait for it.
    annotations: dict[str, Any] = {}
    for parent in reversed(struct.__mro__[:-1]):
        annotations |= getattr(parent, "__annotations__", {})
    fields = {}
    for attribute, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        nested = _find_struct(annotations[attribute])
        keys = MERGED_LISTS.get((struct.__name__, name))
        field = _Field(keys, _get_node(nested) if nested is not None else _NOTHING)
        if field.keys is not None or field.node is not _NOTHING:
            fields[name] = field
    rules, choices = _RULES.get(struct.__name__, ()), _CHOICES.get(struct.__name__, {})
    if not (rules or choices or fields):
        return _NOTHING
    return _Node(rules, choices, fields, bool(rules) or any(field.node.has_rules for field in fields.values()))


def _find_struct(annotation: Any) -> type[Struct] | None:
    """Return the struct in the annotation of a field: a struct or a list of structs, which may be optional."""
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return annotation
    if get_origin(annotation) is dict:
        return None
    return next(filter(None, map(_find_struct, get_args(annotation))), None)
