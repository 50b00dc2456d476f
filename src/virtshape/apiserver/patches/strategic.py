"""
Strategic merge patch: a merge patch that also merges lists by key.

The directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x` are supported. Only
built-in kinds accept this patch type. Arguments are not modified; results share unchanged values with them.
"""

from collections.abc import Hashable, Iterable
from functools import cache
from typing import Any, Final, NamedTuple

from msgspec import inspect

from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.validation.violation import show_value
from virtshape.apiserver.patches.mergekeys import STRATEGIES, Strategy
from virtshape.apiserver.patches.mergepatch import read_partial

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_PREFIX: Final = "$deleteFromPrimitiveList/"
_ORDER_PREFIX: Final = "$setElementOrder/"
_REPLACED: Final = Strategy("replace")


class _Field(NamedTuple):
    """How a field is patched, and the struct of its value or items."""

    strategy: Strategy
    struct: type | None


_PLAIN: Final = _Field(_REPLACED, None)


def patch_strategic(tree: JsonObject, patch: object, struct: type) -> JsonObject:
    """Return the object with the patch merged by the struct's strategies; raise StatusError if the patch is invalid."""
    return _merge(tree, read_partial(patch), struct)


def _merge(tree: JsonObject, patch: JsonObject, struct: type | None) -> JsonObject:
    match patch.get(_PATCH, "merge"):
        case "replace":
            replaced: JsonObject = _clean(patch)
            return replaced
        case "delete":
            return {}
        case "merge":
            pass
        case other:
            raise _refuse(f"unknown patch type {show_value(other)}")
    merged = _retain(tree, patch)
    fields = _list_fields(struct) if struct is not None else {}
    for name in _list_touched(patch):
        value = _patch_field(merged.get(name), patch, name, fields.get(name, _PLAIN))
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged


def _list_touched(patch: JsonObject) -> Iterable[str]:
    """Return the fields that the patch changes, in the order of the patch."""
    names = (name.removeprefix(_DELETE_PREFIX).removeprefix(_ORDER_PREFIX) for name in patch)
    return dict.fromkeys(name for name in names if name not in (_PATCH, _RETAIN))


def _retain(tree: JsonObject, patch: JsonObject) -> JsonObject:
    """Return a copy of the object, with only the keys in `$retainKeys` if the patch has this directive."""
    if _RETAIN not in patch:
        return tree.copy()
    retained = patch[_RETAIN]
    if not isinstance(retained, list):
        raise _refuse("invalid patch format of retainKeys")
    if any(name not in retained for name in patch if not _is_directive(name)):
        raise _refuse("patch content doesn't match retainKeys list")
    return {name: value for name, value in tree.items() if name in retained}


def _patch_field(old: Any, patch: JsonObject, name: str, field: _Field) -> Any:
    """Return the new value of a field; None to remove it."""
    value = old
    gone = patch.get(_DELETE_PREFIX + name)
    if gone is not None:
        if not isinstance(gone, list):
            raise _refuse("invalid patch format of primitive list")
        value = [item for item in value if item not in gone] if isinstance(value, list) else value
    if name in patch:
        value = _patch_value(value, patch[name], field)
    order = patch.get(_ORDER_PREFIX + name)
    if order is not None:
        if not isinstance(order, list):
            raise _refuse("invalid patch format of setElementOrder list")
        _validate_order(patch.get(name), order, field.strategy)
        value = _sort(value, old, order, field.strategy) if isinstance(value, list) else value
    return value


def _patch_value(old: Any, change: Any, field: _Field) -> Any:
    if isinstance(old, dict) and isinstance(change, dict):
        return _merge(old, change, field.struct)
    if isinstance(old, list) and isinstance(change, list) and field.strategy.merges:
        merged = _merge_items(old, change, field) if field.strategy.key else _unite(old, change)
        return _sort(merged, old, [item for item in change if not _is_special(item)], field.strategy)
    return _clean(change)


def _unite(old: list[Any], change: list[Any]) -> list[Any]:
    if any(isinstance(item, dict | list) for item in change):
        raise _refuse("invalid patch format of primitive list")
    return list(dict.fromkeys([*old, *change]))


def _merge_items(old: list[Any], change: list[Any], field: _Field) -> list[Any]:
    key = field.strategy.key
    kinds = [item.get(_PATCH) if isinstance(item, dict) else None for item in change]
    if "replace" in kinds:
        kept: list[Any] = _clean([item for item in change if item != {_PATCH: "replace"}])
        return kept
    if unknown := [kind for kind in kinds if kind not in (None, "delete")]:
        raise _refuse(f"lists cannot be patched with {show_value(unknown[0])}")
    deleted = {_identify(item, key) for item, kind in zip(change, kinds, strict=True) if kind == "delete"}
    merged = [item for item in old if _get_identity(item, key) not in deleted] if deleted else old.copy()
    places = {_get_identity(item, key): place for place, item in reversed(list(enumerate(merged)))}
    for item, kind in zip(change, kinds, strict=True):
        if kind == "delete":
            continue
        identity = _identify(item, key)
        if identity in places:
            place = places[identity]
            merged[place] = _merge(merged[place], item, field.struct)
        else:
            places[identity] = len(merged)
            merged.append(_clean(item))
    return merged


def _validate_order(change: Any, order: list[Any], strategy: Strategy) -> None:
    """Raise StatusError if the items of the patch are not in the order of `$setElementOrder`."""
    if not isinstance(change, list):
        return
    wanted = iter([_identify(item, strategy.key) for item in order])
    given = [_identify(item, strategy.key) for item in change if not _is_special(item)]
    if not all(identity in wanted for identity in given):
        message = f"{show_value(given)} doesn't match $setElementOrder list: {show_value(order)}"
        raise _refuse(f"The order in patch list: {message}")


def _sort(items: list[Any], old: Any, order: list[Any], strategy: Strategy) -> list[Any]:
    """Sort the items that `$setElementOrder` lists; other items stay before the items that followed them in `old`."""
    key = strategy.key
    ranks = {_identify(item, key): rank for rank, item in enumerate(order)}
    before = {_get_identity(item, key): place for place, item in enumerate(old if isinstance(old, list) else [])}
    named = sorted(
        (item for item in items if _get_identity(item, key) in ranks), key=lambda i: ranks[_identify(i, key)]
    )
    others = [item for item in items if _get_identity(item, key) not in ranks]
    result: list[Any] = []
    taken = 0
    for item in named:
        place = before.get(_identify(item, key), -1)
        while taken < len(others) and before.get(_get_identity(others[taken], key), place) < place:
            result.append(others[taken])
            taken += 1
        result.append(item)
    return result + others[taken:]


def _get_identity(item: Any, key: str) -> Hashable:
    """Return the value that identifies an item (its merge key, or the item itself), or None."""
    value = item.get(key) if key and isinstance(item, dict) else item
    return value if isinstance(value, str | int) else None


def _identify(item: Any, key: str) -> Hashable:
    identity = _get_identity(item, key)
    if identity is None or (key and not isinstance(item, dict)):
        raise _refuse(f"map: {show_value(item)} does not contain declared merge key: {key}")
    return identity


def _clean(value: Any) -> Any:
    """Return a new value from a patch, without directives, nulls and deleted items."""
    if isinstance(value, dict):
        return {name: _clean(inner) for name, inner in value.items() if inner is not None and not _is_directive(name)}
    if isinstance(value, list):
        return [_clean(item) for item in value if not (isinstance(item, dict) and item.get(_PATCH) == "delete")]
    return value


def _is_special(item: Any) -> bool:
    """Return True if an item of a patch contains the directive `$patch`."""
    return isinstance(item, dict) and _PATCH in item


def _is_directive(name: str) -> bool:
    return name in (_PATCH, _RETAIN) or name.startswith((_DELETE_PREFIX, _ORDER_PREFIX))


def _refuse(message: str) -> StatusError:
    """Return the error for an invalid patch; as in Kubernetes, an internal error."""
    return StatusError(500, "", message)


@cache
def _list_fields(struct: type) -> dict[str, _Field]:
    """Return the struct's fields that have a patch strategy or contain a nested struct."""
    info = inspect.type_info(struct)
    strategies = STRATEGIES.get(struct.__name__, {})
    fields = {}
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        found = _Field(strategies.get(field.encode_name, _REPLACED), _find_struct(field.type))
        if found != _PLAIN:
            fields[field.encode_name] = found
    return fields


def _find_struct(shape: inspect.Type) -> type | None:
    match shape:
        case inspect.UnionType(types=types):
            return next((found for option in types if (found := _find_struct(option)) is not None), None)
        case inspect.ListType(item_type=item):
            return _find_struct(item)
        case inspect.StructType(cls=struct):
            return struct
        case _:
            return None
