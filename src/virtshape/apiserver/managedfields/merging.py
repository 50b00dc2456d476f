"""
Merge and prune objects for server-side apply.

Arguments are not modified; results share unchanged values with the arguments.
"""

from typing import Any

from virtshape.api.model import JsonObject
from virtshape.apiserver.managedfields.fieldset import SELF, FieldSet, is_member
from virtshape.apiserver.managedfields.fieldtypes import FieldType, ListType, MapType

_GONE = object()


def merge(live: Any, applied: Any, type_: FieldType) -> Any:
    """
    Return the live value with the applied value merged into it.

    An applied null is ignored if the type is granular or the live value is empty.
    """
    if isinstance(type_, MapType) and live.__class__ is dict and applied.__class__ is dict:
        return _merge_fields(live, applied, type_)
    if isinstance(type_, ListType) and live.__class__ is list and applied.__class__ is list:
        return _merge_items(live, applied, type_)
    return live if applied is None and (type_ is not None or not live) else applied


def prune(value: Any, type_: FieldType, last: FieldSet, kept: FieldSet) -> Any:
    """Return the value without the paths in `last` that are not in `kept`."""
    if isinstance(type_, MapType) and value.__class__ is dict:
        return _prune_fields(value, type_, last, kept)
    if isinstance(type_, ListType) and value.__class__ is list:
        return _prune_items(value, type_, last, kept)
    return value


def _merge_fields(live: JsonObject, applied: JsonObject, type_: MapType) -> JsonObject:
    merged = dict(live)
    for name, value in applied.items():
        if name in merged:
            merged[name] = merge(merged[name], value, type_.fields.get(name, type_.element))
        elif value is not None or name not in type_.fields:
            merged[name] = value
    return merged


def _merge_items(live: list[Any], applied: list[Any], type_: ListType) -> list[Any]:
    """Merge lists by item: applied items keep their order, live items keep their positions among them."""
    ours, theirs = type_.index(applied), type_.index(live)
    if ours is None or theirs is None:
        return applied
    shared = [step for step in reversed(ours) if step in theirs]
    waiting = list(reversed(theirs))
    merged: list[Any] = []
    for step, item in ours.items():
        while waiting and not (shared and waiting[-1] == shared[-1]):
            passed = waiting.pop()
            if passed not in ours:
                merged += _each(theirs[passed])
        if step in theirs:
            shared.pop()
            if waiting:
                waiting.pop()
            item = merge(theirs[step], item, type_.element)
        merged += _each(item)
    for step in reversed(waiting):
        merged += _each(theirs[step])
    return merged


def _each(found: Any) -> list[Any]:
    """Return an entry of `ListType.index` as a list: the entry itself if it lists duplicates, or a list of one item."""
    return found if found.__class__ is list else [found]


def _prune_fields(value: JsonObject, type_: MapType, last: FieldSet, kept: FieldSet) -> JsonObject:
    pruned = value
    for step, node in last.items():
        name = step[2:]
        if step == SELF or name not in value:
            continue
        part = value[name]
        always_present, named = name in type_.always_present, name in type_.fields
        rest = _prune_part(part, type_.fields.get(name, type_.element), node, kept.get(step), named, always_present)
        if rest is part:
            continue
        pruned = dict(value) if pruned is value else pruned
        if rest is _GONE:
            del pruned[name]
        else:
            pruned[name] = rest
    return pruned


def _prune_items(value: list[Any], type_: ListType, last: FieldSet, kept: FieldSet) -> list[Any]:
    pruned = []
    for item in value:
        step = type_.step(item) or ""
        node = last.get(step)
        rest = item if node is None else _prune_part(item, type_.element, node, kept.get(step))
        if rest is not _GONE:
            pruned.append(rest)
    return value if all(a is b for a, b in zip(value, pruned, strict=False)) and len(value) == len(pruned) else pruned


def _prune_part(
    part: Any,
    type_: FieldType,
    last: FieldSet,
    kept: FieldSet | None,
    named: bool = False,
    always_present: bool = False,
) -> Any:
    """Return a pruned field or item, or _GONE; a field of a struct (`named`) is kept if any path below it is owned."""
    owned = always_present or (kept is not None and (named or is_member(kept)))
    if not owned and (named or is_member(last)):
        return _GONE
    rest = prune(part, type_, last, kept or {})
    return rest if rest or rest is part else _GONE
