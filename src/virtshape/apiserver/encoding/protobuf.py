"""
Convert request bodies in Kubernetes' protobuf format to JSON.

The API's structs define the types of fields, and NUMBERS defines their numbers. Responses are never in protobuf,
because all clients accept JSON.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject, Time
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.api.times import format_timestamp
from virtshape.api.tokenrequest import TokenRequest
from virtshape.apiserver.deleteoptions import DeleteOptions
from virtshape.apiserver.encoding.protonumbers import NUMBERS
from virtshape.apiserver.limits import validate_nesting

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"

Wire = int | bytes
"""A value on the wire: a number, or the bytes of a string, a message or packed numbers."""
Read = Callable[[Any], Any]

_MAGIC: Final = b"k8s\0"
_MAX_UINT64: Final = (1 << 64) - 1
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # start of year 1 and end of year 9999, relative to 1970
_OTHER_STRUCTS: Final[dict[str, type[Struct]]] = {"DeleteOptions": DeleteOptions, "TokenRequest": TokenRequest}


class _Field(NamedTuple):
    """A field with its JSON name; an `inline` field is a message whose fields belong to the parent."""

    name: str
    read: Read
    shape: Literal["one", "list", "map", "inline"]
    keeps_zero: bool


Plan = dict[int, _Field]


def translate(body: bytes) -> bytes:
    """Return the object in a protobuf body as JSON text; raise StatusError 400 if the body cannot be decoded."""
    try:
        return msgspec.json.encode(_read_object(body))
    except RecursionError:
        raise StatusError(400, "BadRequest", "invalid protobuf body: it is nested too deeply") from None
    except (ValueError, IndexError, TypeError, msgspec.DecodeError) as error:
        raise StatusError(400, "BadRequest", f"invalid protobuf body: {error}") from None


def _read_object(body: bytes) -> JsonObject:
    if not body.startswith(_MAGIC):
        raise ValueError("missing magic number")
    envelope = dict(_read_fields(body[len(_MAGIC) :]))
    stated = {number: _read_text(value) for number, value in _read_fields(_bytes(envelope.get(1, b"")))}
    api_version, kind = stated.get(1, ""), stated.get(2, "")
    tree = _read_message(_bytes(envelope.get(2, b"")), _plan(_get_struct(api_version, kind)))
    return {"apiVersion": api_version, "kind": kind, **tree}


def _get_struct(api_version: str, name: str) -> type[Struct]:
    if name in _OTHER_STRUCTS:
        return _OTHER_STRUCTS[name]
    kind = find_kind(api_version, name)
    if kind is None or kind.struct.__name__ not in _numbers():
        raise ValueError(f'kind "{name}" in version "{api_version}" is not supported in protobuf')
    return kind.struct


def _read_fields(data: bytes) -> Iterator[tuple[int, Wire]]:
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        match key & 7:
            case 0:
                value, at = _read_varint(data, at)
                yield key >> 3, value
            case 2:
                size, at = _read_varint(data, at)
                if at + size > len(data):
                    raise ValueError("the body is truncated")
                yield key >> 3, data[at : at + size]
                at += size
            case other:  # this API uses no other wire type
                raise ValueError(f"unexpected wire type {other}")


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & _MAX_UINT64, at
        shift += 7
        if shift > 63:
            raise ValueError("a varint is too long")


def _read_message(data: bytes, plan: Plan) -> JsonObject:
    tree: JsonObject = {}
    for number, wire in _read_fields(data):
        field = plan.get(number)
        if field is None:  # the field was added in a newer version of Kubernetes
            continue
        match field.shape:
            case "inline":
                tree |= field.read(wire)
            case "list":
                # A list of numbers may be packed into one wire value, or sent as one value per number.
                many = _read_packed(wire) if isinstance(wire, bytes) and field.read is _read_number else [wire]
                tree.setdefault(field.name, []).extend(map(field.read, many))
            case "map":
                entry = dict(_read_fields(_bytes(wire)))
                tree.setdefault(field.name, {})[_read_text(entry.get(1, b""))] = field.read(entry.get(2, b""))
            case "one":
                value = field.read(wire)
                if value is not None and (field.keeps_zero or value not in ("", 0, False)):
                    tree[field.name] = value
    return tree


def _read_packed(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _read_varint(data, at)
        yield value


def _bytes(wire: Wire) -> bytes:
    if isinstance(wire, int):
        raise ValueError("expected a message, got a number")  # noqa: TRY004 - the body is invalid
    return wire


def _read_text(wire: Wire) -> str:
    return _bytes(wire).decode()


def _read_number(wire: int) -> int:
    return wire - (1 << 64) if wire >= 1 << 63 else wire


def _read_bytes(wire: bytes) -> str:
    return b64encode(wire).decode()


def _read_time(wire: bytes) -> str | None:
    parts = dict(_read_fields(wire))
    if not parts:
        return None
    seconds = _read_number(int(parts.get(1, 0)))
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise ValueError("a time is not between the years 1 and 9999")
    return format_timestamp(seconds)


def _read_microtime(wire: bytes) -> str | None:
    moment = _read_time(wire)
    if moment is None:
        return None
    nanoseconds = int(dict(_read_fields(wire)).get(2, 0))
    if nanoseconds >= 10**9:
        raise ValueError("a time has more than 999999999 nanoseconds")
    return f"{moment.removesuffix('Z')}.{nanoseconds // 1000:06d}Z"


def _read_quantity(wire: bytes) -> str:
    return _read_text(dict(_read_fields(wire)).get(1, b""))


def _read_int_or_string(wire: bytes) -> int | str:
    parts = dict(_read_fields(wire))
    return _read_text(parts.get(3, b"")) if parts.get(1) else _read_number(int(parts.get(2, 0)))


def _read_json(wire: bytes) -> Any:
    text = dict(_read_fields(wire)).get(1, b"")
    if not text:
        return None
    validate_nesting(_bytes(text))
    return msgspec.json.decode(_bytes(text))


def _read_texts(wire: bytes) -> list[str]:
    return [_read_text(value) for _, value in _read_fields(wire)]


@cache
def _numbers() -> dict[str, list[tuple[int, str]]]:
    """Return the field numbers and names of each message; names include marks such as `*`."""
    table: dict[str, list[tuple[int, str]]] = {}
    for line in NUMBERS.replace("\n  ", " ").strip().splitlines():
        message, *entries = line.split()
        fields = table[message] = []
        number = 1
        for entry in entries:
            if entry.startswith("@"):
                number = int(entry[1:])
                continue
            fields.append((number, entry))
            number += 1
    return table


@cache
def _plan(struct: type[Struct], message: str = "") -> Plan:
    """Return how to decode a message into the members of a struct."""
    members = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    plan: Plan = {}
    for number, word in _numbers()[message or struct.__name__]:
        if word.startswith("<"):
            plan[number] = _Field("", _later(struct, word[1:]), "inline", keeps_zero=True)
            continue
        name = word.rstrip("*^~")
        member = members[name]
        shape, read = _choose(member.type, word[len(name) :])
        keeps_zero = word.endswith("*") or member.default is NODEFAULT
        plan[number] = _Field(name, read, shape, keeps_zero)
    return plan


def _choose(kind: Any, mark: str) -> tuple[Literal["one", "list", "map"], Read]:
    kind = _strip(kind)
    arguments = get_args(kind)
    if get_origin(kind) is list:
        return "list", _choose_one(arguments[0], mark)
    if get_origin(kind) is dict and arguments[1] is not Any:
        value = _strip(arguments[1])
        return "map", _read_texts if get_origin(value) is list else _choose_one(value, mark)
    return "one", _choose_one(kind, mark)


def _choose_one(kind: Any, mark: str) -> Read:
    if mark in _BY_MARK:
        return _BY_MARK[mark]
    if kind == Time:
        return _read_time
    kind = _strip(kind)
    if get_origin(kind) in (Union, UnionType):
        return _read_int_or_string
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _later(kind)
    return _BY_TYPE.get(kind, _read_text if get_origin(kind) is Literal else _read_json)


def _strip(kind: Any) -> Any:
    """Return the type without None."""
    if get_origin(kind) not in (Union, UnionType):
        return kind
    rest = [part for part in get_args(kind) if part is not NoneType]
    return rest[0] if len(rest) == 1 else Union[tuple(rest)]  # noqa: UP007 - built at run time


def _later(struct: type[Struct], message: str = "") -> Read:
    """
    Return a function that decodes a message.

    The function looks up the message's fields when it is called, because messages can be recursive.
    """
    return lambda wire: _read_message(_bytes(wire), _plan(struct, message))


_BY_MARK: Final[dict[str, Read]] = {"^": _read_bytes, "~": _read_microtime}
_BY_TYPE: Final[dict[Any, Read]] = {str: _read_text, int: _read_number, bool: bool, Quantity: _read_quantity}
