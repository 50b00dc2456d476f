"""
Field types for server-side apply: which values are granular and which are atomic.

The types are derived from the API structs on first use. Objects are not validated: a value that does not match its
type is atomic.
"""

from functools import cache, cached_property
from typing import Any, Final, TypeAlias, Union

from msgspec.inspect import StructType

from virtshape.api.kinds import KINDS, Kind
from virtshape.api.model import JsonObject
from virtshape.api.schema import inspect_struct, write_struct
from virtshape.apiserver.managedfields.fieldset import key_step, value_step
from virtshape.apiserver.managedfields.listtypes import (
    ALWAYS_PRESENT_FIELDS,
    ATOMIC_FIELDS,
    ATOMIC_STRUCTS,
    BUILT_IN_GROUPS,
    DEFAULT_KEYS,
    GRANULAR_FIELDS,
    MERGED_LISTS,
)

FieldType: TypeAlias = Union["MapType", "ListType", None]
"""How to split a value into fields; None if the value is atomic."""

_types: Final[dict[tuple[type, bool], "MapType"]] = {}
_schemas: Final[dict[type, JsonObject]] = {}


class MapType:
    """The type of an object that has the fields of a struct, if any, and arbitrary other fields."""

    def __init__(
        self,
        element: FieldType = None,
        struct: StructType | None = None,
        *,
        built_in: bool = False,
        always_present: frozenset[str] = frozenset(),
    ) -> None:
        self._struct = struct
        self._built_in = built_in
        self.element = element
        """The type of fields that the struct does not have."""
        self.always_present = always_present
        """Fields that count as present even if they are absent."""

    @cached_property
    def fields(self) -> dict[str, FieldType]:
        """The types of the struct's fields, by their JSON names."""
        return {} if self._struct is None else _field_types(self._struct, built_in=self._built_in)


class ListType:
    """The type of a list whose items are identified by `keys`, or by their values if there are no keys."""

    __slots__ = ("element", "keys")

    def __init__(self, keys: tuple[str, ...], element: FieldType) -> None:
        self.keys = keys
        """The fields that identify an item."""
        self.element = element
        """The type of every item."""

    def index(self, items: Any) -> dict[str, Any] | None:
        """
        Return the items by path step (a list of items for duplicates); return an empty dict for null.

        Return None if the value is not a list or an item lacks a key.
        """
        if items is None:
            return {}
        if items.__class__ is not list:
            return None
        found: dict[str, Any] = {}
        repeated: set[str] = set()
        for item in items:
            if (step := self.step(item)) is None:
                return None
            if step in repeated:
                found[step].append(item)
            elif step in found:
                found[step] = [found[step], item]
                repeated.add(step)
            else:
                found[step] = item
        return found

    def step(self, item: Any) -> str | None:
        """Return the step to this item, or None if the item lacks a key."""
        if not self.keys:
            return value_step(item)
        if item.__class__ is not dict:
            return None
        keys = {key: item.get(key, DEFAULT_KEYS.get(key)) for key in self.keys}
        return None if None in keys.values() else key_step(keys)


UNKNOWN: Final = MapType()
"""The type of a value without a struct: objects are granular, lists are atomic."""
UNKNOWN.element = UNKNOWN


class ObjectType:
    """The fields and API versions of a kind, for server-side apply; all versions have the same fields."""

    def __init__(self, kind: Kind) -> None:
        built_in = kind.group in BUILT_IN_GROUPS
        struct = inspect_struct(kind.struct)
        names = {field.encode_name for field in struct.fields}
        always_present = frozenset({"metadata"})
        if built_in:
            always_present |= ALWAYS_PRESENT_FIELDS.get(kind.kind, frozenset()) | (names & {"spec", "status"})
        self.fields = MapType(UNKNOWN, struct, built_in=built_in, always_present=always_present)
        """The types of the fields."""
        self.api_versions = frozenset(k.api_version for k in KINDS if (k.group, k.kind) == (kind.group, kind.kind))
        """The API versions that managers may use."""
        self.has_status = "status" in names
        """Whether objects of the kind have a status."""
        self.custom = not built_in
        """Whether the kind is a custom resource: a status write does not change its metadata."""


@cache
def object_type(kind: Kind) -> ObjectType:
    """Return the object type of a kind."""
    return ObjectType(kind)


def _struct_type(struct: StructType, *, built_in: bool) -> MapType:
    key = (struct.cls, built_in)
    if key not in _types:
        always_present = ALWAYS_PRESENT_FIELDS.get(struct.cls.__name__, frozenset()) if built_in else frozenset()
        _types[key] = MapType(UNKNOWN, struct, built_in=built_in, always_present=always_present)
    return _types[key]


def _field_types(struct: StructType, *, built_in: bool) -> dict[str, FieldType]:
    properties = _schema(struct).get("properties", {})
    return {
        name: _read_field(struct.cls.__name__, name, schema, built_in=built_in) for name, schema in properties.items()
    }


def _read_field(owner: str, name: str, schema: JsonObject, *, built_in: bool) -> FieldType:
    if not built_in:
        return _read_type(schema, built_in=built_in)
    if (owner, name) in ATOMIC_FIELDS:
        return None
    if (owner, name) in GRANULAR_FIELDS:
        return _struct_type(schema["$struct"], built_in=built_in)
    if (keys := MERGED_LISTS.get(owner, {}).get(name)) is not None:
        return ListType(tuple(sorted(keys)), _read_type(schema["items"], built_in=built_in))
    return _read_type(schema, built_in=built_in)


def _read_type(schema: JsonObject, *, built_in: bool) -> FieldType:
    match schema:
        case {"$struct": struct}:
            atomic = "x-kubernetes-map-type" in _schema(struct) or (built_in and struct.cls.__name__ in ATOMIC_STRUCTS)
            return None if atomic else _struct_type(struct, built_in=built_in)
        case {"x-kubernetes-list-type": "set", "items": items}:
            return ListType((), _read_type(items, built_in=built_in))
        case {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items}:
            return ListType(tuple(sorted(keys)), _read_type(items, built_in=built_in))
        case {"additionalProperties": element}:
            return MapType(_read_type(element, built_in=built_in))
        case {"x-kubernetes-preserve-unknown-fields": True}:
            return UNKNOWN
        case _:
            return None


def _schema(struct: StructType) -> JsonObject:
    if struct.cls not in _schemas:
        _schemas[struct.cls] = write_struct(struct, lambda nested: {"$struct": nested}, texts=False)
    return _schemas[struct.cls]
