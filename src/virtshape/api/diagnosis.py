"""
Find all problems in a tree that does not match a struct, by comparing the two recursively.

The comparison is slow, so it is only used for input that the decoder rejected.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from msgspec import inspect

from virtshape.api.fielderror import FieldError
from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.api.path import Part, format_path
from virtshape.api.problems import DecodeRule, build_problem
from virtshape.api.spelling import quote, suggest

MAX_PROBLEMS = 100

Path = tuple[Part, ...]


def find_problems(tree: object, struct: type, refusal: str) -> list[FieldError]:
    """Return up to MAX_PROBLEMS reasons why the tree does not match the struct; if none is found, only `refusal`."""
    problems = [problem for _, problem in islice(walk(tree, struct), MAX_PROBLEMS)]
    return problems or [_read_refusal(refusal)]


def walk(tree: object, struct: type) -> Iterator[tuple[Path, FieldError]]:
    """Yield every problem in the tree, with its path."""
    return _walk(tree, _shape(struct), ())


def find_kind_problems(tree: object) -> list[FieldError]:
    """Return the problems in a tree whose `apiVersion` and `kind` are not those of a known kind."""
    if not isinstance(tree, dict):
        return [build_problem("", f"expected an object, got {describe_value(tree)}", "wrong-type")]
    problems = []
    for name in ("apiVersion", "kind"):
        if tree.get(name) in (None, ""):
            problems.append(build_problem(name, f"missing required field {quote(name)}", "missing-field"))
        elif not isinstance(tree[name], str):
            problems.append(build_problem(name, f"expected a string, got {describe_value(tree[name])}", "wrong-type"))
    return problems or [_explain_kind(tree["apiVersion"], tree["kind"])]


def describe_value(value: object) -> str:
    """Return a description of a value for an error message, such as `the string "4"` or `an object`."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int():
            return f"the integer {value}"
        case float():
            return f"the number {value}"
        case str():
            return f"the string {quote(value)}"
        case list() | tuple():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _explain_kind(api_version: str, kind: str) -> FieldError:
    served = [other.api_version for other in KINDS if other.kind == kind]
    if served:
        versions = " or ".join(map(quote, served))
        return build_problem(
            "apiVersion",
            f"{kind} is not known in version {quote(api_version)}, only in {versions}",
            "unsupported-value",
        )
    near = suggest(kind, {other.kind for other in KINDS})
    return build_problem(
        "kind", f"unknown kind {quote(kind)} in version {quote(api_version)}{near}", "unsupported-value"
    )


def _place(at: Path, message: str, rule: DecodeRule) -> tuple[Path, FieldError]:
    return at, build_problem(format_path(at), message, rule)


@cache
def _shape(struct: type) -> inspect.Type:
    return inspect.type_info(struct)


def _walk(value: Any, shape: inspect.Type, at: Path) -> Iterator[tuple[Path, FieldError]]:
    options = shape.types if isinstance(shape, inspect.UnionType) else (shape,)
    fitting = next((option for option in options if _is_of(value, option)), None)
    match fitting:
        case None:
            yield _place(at, f"expected {_name_types(options)}, got {describe_value(value)}", "wrong-type")
        case inspect.StructType():
            yield from _walk_struct(value, fitting, at)
        case inspect.DictType():
            for key, item in value.items():
                yield from _walk(item, fitting.value_type, (*at, key))
        case inspect.ListType():
            for index, item in enumerate(value):
                yield from _walk(item, fitting.item_type, (*at, index))
        case _:
            yield from _check_scalar(value, fitting, at)


def _walk_struct(value: JsonObject, shape: inspect.StructType, at: Path) -> Iterator[tuple[Path, FieldError]]:
    fields = {field.encode_name: field for field in shape.fields}
    for key, item in value.items():
        if key in fields:
            yield from _walk(item, fields[key].type, (*at, key))
        elif shape.forbid_unknown_fields:
            near = suggest(key, fields.keys() - value.keys())
            yield _place((*at, key), f"unknown field {quote(key)}{near}", "unknown-field")
    for name, field in fields.items():
        if field.required and name not in value:
            yield _place((*at, name), f"missing required field {quote(name)}", "missing-field")


def _check_scalar(value: Any, shape: inspect.Type, at: Path) -> Iterator[tuple[Path, FieldError]]:
    match shape:
        case inspect.LiteralType() if value not in shape.values:
            near = suggest(value, map(str, shape.values))
            yield _place(at, f"expected {_name_type(shape)}, got {quote(value)}{near}", "unsupported-value")
        case inspect.CustomType():
            try:
                shape.cls(value)
            except ValueError as error:
                yield _place(at, str(error), "invalid-value")
        case inspect.IntType() | inspect.FloatType() if bounds := _broken_bounds(value, shape):
            yield _place(at, f"expected a number {bounds}, got {value}", "invalid-value")


def _broken_bounds(value: float, shape: inspect.IntType | inspect.FloatType) -> str:
    """Return the allowed range if the number is out of range, otherwise an empty string."""
    if (shape.ge is None or value >= shape.ge) and (shape.le is None or value <= shape.le):
        return ""
    if shape.ge is not None and shape.le is not None:
        return f"from {shape.ge} to {shape.le}"
    return f"of at least {shape.ge}" if shape.le is None else f"of at most {shape.le}"


def _is_of(value: object, shape: inspect.Type) -> bool:
    """Return True if the value has the expected JSON type."""
    match shape:
        case inspect.NoneType():
            return value is None
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case inspect.FloatType() | inspect.CustomType() if isinstance(value, int | float):
            return not isinstance(value, bool)
        case inspect.StrType() | inspect.LiteralType() | inspect.BytesType() | inspect.CustomType():
            return isinstance(value, str)
        case inspect.ListType():
            return isinstance(value, list | tuple)
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case _:
            return not isinstance(shape, inspect.FloatType)


def _name_types(shapes: Iterable[inspect.Type]) -> str:
    return " or ".join(_name_type(shape) for shape in shapes if not isinstance(shape, inspect.NoneType))


def _name_type(shape: inspect.Type) -> str:
    match shape:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "an integer"
        case inspect.FloatType():
            return "a number"
        case inspect.StrType():
            return "a string"
        case inspect.BytesType():
            return "base64 text"
        case inspect.LiteralType():
            return "one of " + ", ".join(quote(str(value)) for value in shape.values)
        case inspect.CustomType():
            return "a quantity such as 4Gi or 250m"
        case inspect.ListType():
            return "a list"
        case _:
            return "an object"


def _read_refusal(refusal: str) -> FieldError:
    """Return the decoder's message as a FieldError; the path in the message looks like `$.spec.x`."""
    text, _, path = refusal.partition(" - at `$")
    message = text.replace("`", "")
    return build_problem(path.removesuffix("`").removeprefix("."), message[:1].lower() + message[1:], "invalid-value")
