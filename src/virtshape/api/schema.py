"""
OpenAPI v3 schemas of the structs for CustomResourceDefinitions: structural, without references.

Types, required fields, limits and descriptions come from the structs. Tables in this module add properties
that the structs do not have, such as list types.
"""

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct, inspect

from virtshape.api.description import Description, describe
from virtshape.api.model import JsonObject, Settings
from virtshape.api.quantity import Quantity

WriteStruct = Callable[[inspect.StructType], JsonObject]

_NO_TEXTS = Description("", {})
_INT_OR_STRING: JsonObject = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
_ANY_OBJECT: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

# Server-side apply merges these lists by the keys of their elements, or as sets if there are no keys. Every other list
# is atomic.
MERGED_LISTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("KubeVirtConfiguration", "supportContainerResources"): ("type",),
    ("ObjectMeta", "finalizers"): (),
    ("ObjectMeta", "ownerReferences"): ("uid",),
    ("QemuGuestAgentSSHPublicKeyAccessCredentialPropagation", "users"): (),
    ("TLSConfiguration", "ciphers"): (),
    ("VirtualMachineInstanceSpec", "resourceClaims"): ("name",),
    ("VirtualMachineInstanceSpec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    ("VirtualMachineInstanceSpec", "utilityVolumes"): ("name",),
}

# Server-side apply treats these structs as atomic: merging two selectors, for example, would change their meaning.
_ATOMIC_STRUCTS = frozenset(
    {
        "LabelSelector",
        "LocalObjectReference",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "OwnerReference",
        "ResourceFieldSelector",
        "TypedLocalObjectReference",
    }
)

DEFAULTS: dict[str, JsonObject] = {"VirtualMachineStatus": {"printableStatus": "Stopped"}}
"""Default values of fields, by struct; the API server sets them if the struct is present."""

_RULES: dict[str, JsonObject] = {
    "CPUInstancetype": {
        "rule": "!(has(self.guest) && self.guest > 0 && has(self.topology))",
        "message": "spec.cpu.guest and spec.cpu.topology are mutually exclusive: keep one of them",
        "fieldPath": ".topology",
    },
}


def structural_schema(kind: type[Struct]) -> JsonObject:
    """Return the schema of a kind with all nested structs inlined."""
    schema = write_kind(kind, lambda nested: _write_inline(nested, (kind,)))
    schema["properties"]["metadata"] = {"type": "object"}  # the API server adds the schema of metadata
    return schema


def write_kind(kind: type[Struct], write_nested: WriteStruct) -> JsonObject:
    """Return the schema of a kind, in which `apiVersion` and `kind` are optional."""
    schema = write_struct(inspect_struct(kind), write_nested)
    required = [name for name in schema.pop("required", ()) if name not in ("apiVersion", "kind")]
    return schema | ({"required": required} if required else {})


@lru_cache(maxsize=1)  # callers often ask for the same struct several times in a row
def inspect_struct(struct: type[Struct]) -> inspect.StructType:
    """Return msgspec's description of a struct: its fields and their types."""
    info = inspect.type_info(struct)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"{struct} is not a struct")
    return info


def write_struct(struct: inspect.StructType, write_nested: WriteStruct, *, texts: bool = True) -> JsonObject:
    """Return the schema of a struct; `write_nested` inlines or references the structs in its fields."""
    description = describe(struct.cls) if texts else _NO_TEXTS
    schema: JsonObject = {"description": description.summary} if description.summary else {}
    schema["type"] = "object"
    if struct.fields:
        schema["properties"] = {
            field.encode_name: _write_field(struct.cls.__name__, field, description.fields, write_nested)
            for field in struct.fields
        }
    if required := [field.encode_name for field in struct.fields if field.required]:
        schema["required"] = required
    if issubclass(struct.cls, Settings):
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if struct.cls.__name__ in _ATOMIC_STRUCTS:
        schema["x-kubernetes-map-type"] = "atomic"
    if rule := _RULES.get(struct.cls.__name__):
        schema["x-kubernetes-validations"] = [dict(rule)]
    return schema


def _write_field(owner: str, field: inspect.Field, texts: dict[str, str], write_nested: WriteStruct) -> JsonObject:
    schema = _write_type(field.type, write_nested)
    if schema.get("type") == "array":
        schema |= _list_type(owner, field.encode_name)
    if (default := DEFAULTS.get(owner, {}).get(field.encode_name)) is not None:
        schema["default"] = default
    return schema | ({"description": texts[field.name]} if field.name in texts else {})


def _list_type(owner: str, name: str) -> JsonObject:
    keys = MERGED_LISTS.get((owner, name))
    match keys:
        case None:
            return {"x-kubernetes-list-type": "atomic"}
        case ():
            return {"x-kubernetes-list-type": "set"}
        case _:
            return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def _write_inline(struct: inspect.StructType, enclosing: tuple[type, ...]) -> JsonObject:
    if struct.cls in enclosing:  # a schema without references cannot be recursive
        return _ANY_OBJECT.copy()
    return write_struct(struct, lambda nested: _write_inline(nested, (*enclosing, struct.cls)))


def _write_type(type_: inspect.Type, write_nested: WriteStruct) -> JsonObject:
    match type_:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return _write_type(inner, write_nested) | (extra or {})
        case inspect.UnionType(types=types):
            return _write_union([t for t in types if not isinstance(t, inspect.NoneType)], write_nested)
        case inspect.StructType():
            return write_nested(type_)
        case inspect.ListType(item_type=item):
            return {"type": "array", "items": _write_type(item, write_nested)}
        case inspect.DictType(value_type=inspect.AnyType()):
            return _ANY_OBJECT.copy()
        case inspect.DictType(value_type=value):
            return {"type": "object", "additionalProperties": _write_type(value, write_nested)}
        case _:
            return _write_scalar(type_)


def _write_union(types: list[inspect.Type], write_nested: WriteStruct) -> JsonObject:
    match types:
        case [only]:
            return _write_type(only, write_nested)
        case [inspect.IntType(), inspect.StrType()]:
            return _INT_OR_STRING.copy()
        case _:
            raise TypeError(f"no structural schema for a choice of {types}")


def _write_scalar(type_: inspect.Type) -> JsonObject:
    match type_:
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            return _write_integer(type_)
        case inspect.FloatType():
            return {"type": "number", "format": "double"}
        case inspect.StrType():
            return {"type": "string"}
        case inspect.LiteralType(values=values):
            return {"type": "string", "enum": list(values)}
        case inspect.BytesType():
            return {"type": "string", "format": "byte"}
        case inspect.CustomType(cls=cls) if cls is Quantity:
            return _INT_OR_STRING | {"pattern": _QUANTITY}
        case inspect.AnyType() | inspect.RawType():
            return {"x-kubernetes-preserve-unknown-fields": True}
        case _:
            raise TypeError(f"no structural schema for {type_}")


def _write_integer(type_: inspect.IntType) -> JsonObject:
    if (type_.ge, type_.le) == (-(2**31), 2**31 - 1):
        return {"type": "integer", "format": "int32"}
    limits = {"minimum": type_.ge, "maximum": type_.le}
    return {"type": "integer", "format": "int64"} | {name: limit for name, limit in limits.items() if limit is not None}
