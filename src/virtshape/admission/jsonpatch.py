"""Create a JSON patch from two trees. Lists of equal length are compared item by item, others are replaced."""

from collections.abc import Iterator
from typing import Any

from virtshape.api.model import JsonObject


def create_json_patch(before: Any, after: Any) -> list[JsonObject]:
    """Return the operations that turn `before` into `after`; empty if they are equal."""
    return list(_compare(before, after, ""))


def _compare(before: Any, after: Any, path: str) -> Iterator[JsonObject]:
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _compare(old, new, f"{path}/{number}")
    elif type(before) is not type(after) or before != after:  # 1 == True, but they are different values
        yield {"op": "replace", "path": path, "value": after}


def _compare_members(before: JsonObject, after: JsonObject, path: str) -> Iterator[JsonObject]:
    for key, value in before.items():
        if key not in after:
            yield {"op": "remove", "path": f"{path}/{_escape(key)}"}
        else:
            yield from _compare(value, after[key], f"{path}/{_escape(key)}")
    for key, value in after.items():
        if key not in before:
            yield {"op": "add", "path": f"{path}/{_escape(key)}", "value": value}


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
