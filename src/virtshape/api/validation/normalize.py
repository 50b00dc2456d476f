"""
Normalize an object to its kind's struct: drop unknown fields and nulls, and report all values that do not match.

Normalizing is slower than decoding, and is only used for objects that contain null or cannot be decoded. Arguments are
not modified.
"""

from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from msgspec import Struct, inspect

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import Kind, is_custom_resource
from virtshape.api.meta import ObjectMeta
from virtshape.api.model import JsonObject
from virtshape.api.path import format_path
from virtshape.api.validation.violation import invalid_value, mistyped_value, required_value, unsupported_value

Path = tuple[Any, ...]
"""The path to a value, as a pair of the parent's path and the key or index; empty for the object itself."""

# Fields in which null is kept: KubeVirt declares condition times as nullable, and Kubernetes writes `eventTime: null`.
_CONDITION_TIMES: Final = ("lastProbeTime", "lastTransitionTime")
_NULLABLE: Final[dict[str, tuple[str, ...]]] = {
    "KubeVirtCondition": _CONDITION_TIMES,
    "VirtualMachineCondition": _CONDITION_TIMES,
    "VirtualMachineInstanceCondition": _CONDITION_TIMES,
    "Event": ("eventTime",),
}
_HEAD: Final = frozenset({"apiVersion", "kind"})
_METADATA: Final = ((), "metadata")
NO_FIELD: Final = "<nil>"
"""The value of a cause's field if the cause has no path."""

_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    dict: "object",
    float: "number",
    int: "integer",
    list: "array",
    str: "string",
    type(None): "null",
}


class NormalizedObject(NamedTuple):
    """The normalized tree, paths of unknown fields, problems, and reasons why it cannot be decoded at all."""

    tree: JsonObject
    unknown: list[str]
    causes: list[FieldError]
    misfits: list[str]


def normalize_object(tree: JsonObject, kind: Kind) -> NormalizedObject:
    """Return the tree normalized to its kind's struct, and all problems."""
    found = _Findings(custom=is_custom_resource(kind))
    normalized = _get_object(kind.struct).normalize(tree, (), found)
    return NormalizedObject(normalized, sorted(found.unknown), found.causes, found.misfits)


class _Findings:
    """Problems that were found in a tree."""

    def __init__(self, *, custom: bool) -> None:
        self.custom = custom
        self.unknown: list[str] = []
        self.causes: list[FieldError] = []
        self.misfits: list[str] = []

    def add_mistyped(self, value: Any, shapes: "tuple[_Shape, ...]", at: Path) -> None:
        path, given = _format(at), _NAMES[type(value)]
        wanted = ",".join(dict.fromkeys(shape.name for shape in shapes))
        if not self.custom or _is_metadata(at):
            self.misfits.append(f"json: cannot unmarshal {given} into field {path} of type {wanted}")
            return
        # The schemas of custom resources declare the type of a quantity in two keywords, so there are two errors.
        is_quantity = any(isinstance(shape, _Custom) for shape in shapes)
        for name in ("integer,string", "integer") if is_quantity else (wanted,):
            self.causes.append(mistyped_value(path, given, f'{path} in body must be of type {name}: "{given}"'))
        if is_quantity:
            self.causes.append(invalid_value(NO_FIELD, "", f'"{path}" must validate at least one schema (anyOf)'))
        if isinstance(value, float) and (is_quantity or wanted == "integer"):
            self.causes.append(invalid_value(NO_FIELD, "", f"Checked value must be of type integer in {path}"))

    def add_invalid(self, value: Any, at: Path, message: str) -> None:
        path = _format(at)
        if self.custom and not _is_metadata(at):
            self.causes.append(invalid_value(path, value, f"{path} in body {message}"))
        else:
            self.misfits.append(f"field {path} {message}")


def _format(at: Path) -> str:
    parts = []
    while at:
        at, part = at
        parts.append(part)
    return format_path(reversed(parts))


def _is_metadata(at: Path) -> bool:
    while len(at) and at[0]:
        at = at[0]
    return at == _METADATA


class _Shape:
    """The expected type of a value; the base class accepts anything."""

    name = "any"
    accepted: frozenset[type] = frozenset(_NAMES)

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:  # noqa: ARG002 -- subclasses use it
        """Return the normalized value."""
        return value


class _Scalar(_Shape):
    def __init__(self, name: str, *accepted: type) -> None:
        self.name = name
        self.accepted = frozenset(accepted)


class _Number(_Scalar):
    def __init__(self, info: inspect.IntType | inspect.FloatType) -> None:
        super().__init__("integer", int) if isinstance(info, inspect.IntType) else super().__init__(
            "number", int, float
        )
        self._least, self._most = info.ge, info.le

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:
        if self._least is not None and value < self._least:
            found.add_invalid(value, at, f"should be greater than or equal to {self._least}")
        if self._most is not None and value > self._most:
            found.add_invalid(value, at, f"should be less than or equal to {self._most}")
        return value


class _Choice(_Scalar):
    def __init__(self, values: tuple[Any, ...]) -> None:
        super().__init__("string", str)
        self._values = values

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:
        if value not in self._values:
            found.causes.append(unsupported_value(_format(at), value, self._values))
        return value


class _Custom(_Scalar):
    def __init__(self, cls: type) -> None:
        super().__init__("string", str, int, float)
        self._read = cls

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:
        if isinstance(value, float) and found.custom:
            found.add_mistyped(value, (self,), at)
            return value
        try:
            self._read(value)
        except ValueError as error:
            found.add_invalid(value, at, f"is not a {self._read.__name__.lower()}: {error}")
        return value


class _Nest(_Shape):
    """A list, or an object with arbitrary keys."""

    def __init__(self, name: str, accepted: type, inner: inspect.Type) -> None:
        self.name = name
        self.accepted = frozenset({accepted})
        self._inner = _read_shapes(inner)

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:
        inner = self._inner
        if isinstance(value, list):
            return [_normalize(item, inner, (at, index), found) for index, item in enumerate(value)]
        if None in value.values():
            value = self._without_nulls(value, at, found)
        return {key: _normalize(item, inner, (at, key), found) for key, item in value.items()}

    def _without_nulls(self, value: JsonObject, at: Path, found: _Findings) -> JsonObject:
        """Return a map without nulls; in metadata and built-in kinds, null becomes an empty string in string maps."""
        are_texts = [shape.name for shape in self._inner] == ["string"] and (not found.custom or _is_metadata(at))
        if are_texts:
            return {key: "" if item is None else item for key, item in value.items()}
        return {key: item for key, item in value.items() if item is not None}


class _Field(NamedTuple):
    shapes: tuple[_Shape, ...]
    required: bool
    nullable: bool


class _Object(_Shape):
    name = "object"
    accepted = frozenset({dict})

    def __init__(self, struct: type[Struct]) -> None:
        self._struct = struct
        self._is_open = not struct.__struct_config__.forbid_unknown_fields

    @cached_property
    def _fields(self) -> dict[str, _Field]:
        info = inspect.type_info(self._struct)
        nullable = _NULLABLE.get(self._struct.__name__, ())
        return {
            field.encode_name: _Field(_read_shapes(field.type), field.required, field.encode_name in nullable)
            for field in (info.fields if isinstance(info, inspect.StructType) else ())
        }

    @cached_property
    def _required(self) -> list[str]:
        return [name for name, field in self._fields.items() if field.required]

    def normalize(self, value: Any, at: Path, found: _Findings) -> Any:
        fields = self._fields
        result = {}
        for name, inner in value.items():
            field = fields.get(name)
            if field is None:
                if self._is_open:
                    result[name] = inner
                else:
                    found.unknown.append(_format((at, name)))
            elif inner is not None:
                result[name] = _normalize(inner, field.shapes, (at, name), found)
            elif field.nullable or self._keeps_nulls(at, found):
                result[name] = None
        for name in self._required:
            if result.get(name) is None and not self._may_be_absent(name, at):
                found.causes.append(required_value(_format((at, name))))
        return result

    def _keeps_nulls(self, at: Path, found: _Findings) -> bool:
        """Return True for nested metadata in a custom resource, such as a template's, in which nulls are preserved."""
        return self._struct is ObjectMeta and at != _METADATA and found.custom

    def _may_be_absent(self, name: str, at: Path) -> bool:
        """Return True for apiVersion, kind and fields of metadata, all of which are checked elsewhere."""
        return name in _HEAD if not at else _is_metadata(at)


def _normalize(value: Any, shapes: tuple[_Shape, ...], at: Path, found: _Findings) -> Any:
    for shape in shapes:
        if value.__class__ in shape.accepted:
            return shape.normalize(value, at, found)
    found.add_mistyped(value, shapes, at)
    return value


@cache
def _get_object(struct: type[Struct]) -> _Object:
    return _Object(struct)


def _read_shapes(info: inspect.Type) -> tuple[_Shape, ...]:
    """Return the types that a value may have, without null."""
    match info:
        case inspect.Metadata(type=inner):
            return _read_shapes(inner)
        case inspect.UnionType(types=types):
            return tuple(shape for inner in types for shape in _read_shapes(inner))
        case inspect.NoneType():
            return ()
        case _:
            return (_read_shape(info),)


def _read_shape(info: inspect.Type) -> _Shape:
    match info:
        case inspect.BoolType():
            return _Scalar("boolean", bool)
        case inspect.IntType() | inspect.FloatType():
            return _Number(info)
        case inspect.StrType():
            return _Scalar("string", str)
        case inspect.LiteralType(values=values):
            return _Choice(values)
        case inspect.CustomType(cls=cls):
            return _Custom(cls)
        case inspect.ListType(item_type=item):
            return _Nest("array", list, item)
        case inspect.DictType(value_type=value) if not isinstance(value, inspect.AnyType):
            return _Nest("object", dict, value)
        case inspect.DictType():
            return _Scalar("object", dict)
        case inspect.StructType(cls=struct):
            return _get_object(struct)
        case _:
            return _Shape()
