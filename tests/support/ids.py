"""
Readable ids of parametrized tests whose values are objects: `cpu.guest=4` instead of `spec0`.

The root conftest loads this module as a pytest plugin. Ids that a test sets itself are not changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

import msgspec
import pytest

MAX_LENGTH: Final = 60
IDENTITY: Final = ("apiVersion", "api_version", "kind", "metadata.name", "metadata.namespace", "metadata.uid")
"""Fields that rarely differ between two cases; they are shown only if there are no others."""


@pytest.hookimpl(tryfirst=True)
def pytest_make_parametrize_id(val: object) -> str | None:
    """Return a short id for objects and long strings; None if pytest should choose the id."""
    if isinstance(val, str):
        return _shorten(val) if len(val) > MAX_LENGTH else None
    if isinstance(val, bytes):
        return _shorten(ascii(val)[2:-1]) if len(val) > MAX_LENGTH else None
    text = describe(val)
    return None if text is None else _shorten(text.encode("unicode_escape").decode())


def describe(value: object) -> str | None:
    """Return the content of an object as text, or None if it has no readable form."""
    if isinstance(value, Mapping) or _is_struct(value):
        leaves = [*_flatten(value)]
        telling = [leaf for leaf in leaves if not leaf[0].endswith(IDENTITY)]
        return ", ".join(f"{path}={text}" if path else text for path, text in telling or leaves)
    if isinstance(value, AbstractSet):
        return " ".join(sorted(_format(item) for item in value)) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return " ".join(_format(item) for item in value) or "none"
    return None


def _is_struct(value: object) -> bool:
    if isinstance(value, type):
        return False
    return (
        isinstance(value, msgspec.Struct)
        or is_dataclass(value)
        or (isinstance(value, tuple) and hasattr(value, "_fields"))
    )


def _list_fields(value: Any) -> Iterator[tuple[str, object]]:
    """Yield the fields of a struct that differ from their defaults."""
    if isinstance(value, Mapping):
        yield from ((str(name), item) for name, item in value.items())
    elif isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            item = getattr(value, field.name)
            default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
            if item != default:
                yield field.name, item
    elif is_dataclass(value):
        for each in fields(value):
            default = each.default_factory() if each.default_factory is not MISSING else each.default
            if getattr(value, each.name) != default:
                yield each.name, getattr(value, each.name)
    else:
        defaults = getattr(value, "_field_defaults", {})
        for name in value._fields:
            item = getattr(value, name)
            if name not in defaults or item != defaults[name]:
                yield name, item


def _flatten(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the leaves of nested mappings and structs with their dotted paths."""
    members = [*_list_fields(value)]
    if not members:
        yield path, "empty"
    for name, item in members:
        inner = f"{path}.{name}" if path else name
        if isinstance(item, Mapping) or _is_struct(item):
            yield from _flatten(item, inner)
        else:
            yield inner, _format(item)


def _format(value: object) -> str:
    text = describe(value)
    if text is not None:
        return text
    if isinstance(value, type):
        return value.__name__
    return ascii(value)[2:-1] if isinstance(value, bytes) else str(value)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 3]}..."
