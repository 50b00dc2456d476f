"""
Compute which fields a write changes, as field sets.

All functions are pure. Equal values are not compared field by field.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from virtshape.api.model import JsonObject
from virtshape.apiserver.managedfields.fieldset import SELF, FieldSet
from virtshape.apiserver.managedfields.fieldtypes import FieldType, ListType, MapType, ObjectType

UNOWNED_METADATA: Final = frozenset(
    {
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""Metadata fields that no field manager owns."""

_UNOWNED: Final = frozenset({"apiVersion", "kind"})
_UNOWNED_BESIDE_STATUS: Final = _UNOWNED | {"status"}


class RepeatedItemError(Exception):
    """An applied list has a duplicate item."""


class Change(NamedTuple):
    """The difference between two values."""

    taken: FieldSet | None
    """Added or changed fields, which the writer now owns; None if there are none."""
    lost: FieldSet | None
    """Removed fields, which no longer have an owner; None if there are none."""


_UNCHANGED: Final = Change(None, None)


def owned_part(tree: JsonObject, kind: ObjectType, subresource: str) -> JsonObject:
    """Return the object with only the fields that a write to it, or to its subresource, can change and own."""
    if subresource == "status":
        kept = {"status": tree["status"]} if "status" in tree else {}
        return kept if kind.custom else _with_metadata(kept, tree)
    unowned = _UNOWNED_BESIDE_STATUS if kind.has_status else _UNOWNED
    return _with_metadata({name: value for name, value in tree.items() if name not in unowned}, tree)


def claim(value: Any, type_: FieldType) -> FieldSet:
    """Return the field set of a new value, with all fields and items that it contains."""
    if type_ is None or not value:
        return {}
    if isinstance(type_, ListType):
        return _claim_items(value, type_)
    if value.__class__ is not dict:
        return {}
    owned: FieldSet = {SELF: {}}
    types, element = type_.fields, type_.element
    for name, part in value.items():
        part_type = types.get(name, element)
        owned["f:" + name] = {} if part_type is None or not part else claim(part, part_type)
    return owned


def declare(value: Any, type_: FieldType) -> FieldSet | None:
    """
    Return the field set of an applied value, without structs and lists that contain fields; None if the set is empty.

    Raise RepeatedItemError if a list has a duplicate item.
    """
    if type_ is None or value is None:
        return {}
    if isinstance(type_, ListType):
        return _declare_items(value, type_)
    if value.__class__ is not dict or not value:
        return {}
    owned: FieldSet = {}
    types, element = type_.fields, type_.element
    for name, part in value.items():
        fields = declare(part, types.get(name, element))
        if name not in types:
            owned["f:" + name] = {SELF: {}, **fields} if fields else {}
        elif fields is not None:
            owned["f:" + name] = fields
    return owned or None


def find_repeated(value: Any, type_: FieldType, at: str = "") -> Iterator[str]:
    """Yield a message for each duplicate item in an applied value."""
    if isinstance(type_, MapType) and isinstance(value, dict):
        for name, part in value.items():
            yield from find_repeated(part, type_.fields.get(name, type_.element), f"{at}.{name}")
    elif isinstance(type_, ListType) and isinstance(value, list):
        for step, item in (type_.index(value) or {}).items():
            key = f"[{_format_key(step)}]"
            if isinstance(item, list):
                yield f"{at}: duplicate entries for key {key}"
            else:
                yield from find_repeated(item, type_.element, at + key)


def _format_key(step: str) -> str:
    kind, _, text = step.partition(":")
    keys = {"": json.loads(text)} if kind == "v" else json.loads(text)
    return ",".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())


def compare(old: Any, new: Any, type_: FieldType) -> Change:
    """Return the fields in which two values differ."""
    return _UNCHANGED if old is new or old == new else _compare_unequal(old, new, type_)


def _with_metadata(part: JsonObject, tree: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in (tree.get("metadata") or {}).items() if name not in UNOWNED_METADATA}
    if metadata:
        part["metadata"] = metadata
    else:
        part.pop("metadata", None)
    return part


def _note(taken: FieldSet, lost: FieldSet, step: str, change: Change) -> None:
    if change.taken is not None:
        taken[step] = change.taken
    if change.lost is not None:
        lost[step] = change.lost


def _compare_unequal(old: Any, new: Any, type_: FieldType) -> Change:
    if type_ is None:
        return Change({}, None)
    if isinstance(type_, ListType):
        return _compare_items(old, new, type_)
    if old.__class__ is not dict or new.__class__ is not dict:
        return _compare_unlike(old, new, type_)
    taken: FieldSet = {}
    lost: FieldSet = {}
    types, element, always_present = type_.fields, type_.element, type_.always_present
    for name, part in new.items():
        before = old.get(name)
        if before is part or before == part:
            continue
        if name in old or (name in always_present and part):
            _note(taken, lost, "f:" + name, _compare_unequal(before, part, types.get(name, element)))
        elif name not in always_present:
            taken["f:" + name] = claim(part, types.get(name, element))
    for name, before in old.items():
        if name in new:
            continue
        if name not in always_present:
            lost["f:" + name] = claim(before, types.get(name, element))
        elif before:
            _note(taken, lost, "f:" + name, _compare_unequal(before, None, types.get(name, element)))
    return Change(taken or None, lost or None)


def _compare_unlike(old: Any, new: Any, type_: FieldType) -> Change:
    """Compare values of which at least one is not an object; an absent value counts as empty."""
    before = old if old.__class__ is dict else {}
    after = new if new.__class__ is dict else {}
    change = compare(before, after, type_)
    if (old is None or old is before) and (new is None or new is after) and (before or after):
        return change
    return Change({SELF: {}, **change.taken} if change.taken else {}, change.lost)


def _claim_items(items: Any, type_: ListType) -> FieldSet:
    found = type_.index(items)
    if found is None:
        return {}
    element = type_.element
    return {SELF: {}} | {step: claim(item, element) for step, item in found.items()}


def _declare_items(items: Any, type_: ListType) -> FieldSet | None:
    found = type_.index(items)
    if found is None:
        return {}
    owned: FieldSet = {}
    for step, item in found.items():
        if item.__class__ is list:
            raise RepeatedItemError
        fields = declare(item, type_.element)
        owned[step] = {SELF: {}, **fields} if fields else {}
    return owned or None


def _compare_items(old: Any, new: Any, type_: ListType) -> Change:
    before, after = type_.index(old), type_.index(new)
    if before is None or after is None or not (before or after):
        return Change({}, None)
    taken: FieldSet = {}
    lost: FieldSet = {}
    for step, item in after.items():
        if step in before:
            _note(taken, lost, step, compare(before[step], item, type_.element))
        else:
            taken[step] = claim(item, type_.element)
    for step in before.keys() - after.keys():
        lost[step] = claim(before[step], type_.element)
    return Change(taken or None, lost or None)
