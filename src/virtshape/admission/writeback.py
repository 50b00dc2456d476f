"""Write changes to a struct back into the JSON object that it was decoded from, and preserve all other fields."""

from typing import Any

from virtshape.api.model import JsonObject


def overlay(tree: Any, before: Any, after: Any) -> Any:
    """Return `tree` with the changes made to a struct; `before` and `after` are the struct's old and new JSON."""
    return tree if before == after else _overlay_unequal(tree, before, after)


def _overlay_unequal(tree: Any, before: Any, after: Any) -> Any:
    kinds = {type(tree), type(before), type(after)}
    if kinds == {dict}:
        return _overlay_members(tree, before, after)
    if kinds == {list} and len(tree) == len(before) <= len(after):
        common = [overlay(*items) for items in zip(tree, before, after, strict=False)]
        return common + after[len(common) :]
    return after


def _overlay_members(tree: JsonObject, before: JsonObject, after: JsonObject) -> JsonObject:
    result = dict(tree)
    for key, value in after.items():
        if key not in before:
            result[key] = value
        elif before[key] != value:
            result[key] = _overlay_unequal(tree.get(key), before[key], value)
    if len(before) > len(after) or not before.keys() <= after.keys():
        for key in before.keys() - after.keys():
            result.pop(key, None)
    return result
