"""
Encode OpenAPI v2 documents as protobuf, for older clients.

Only the gnostic messages and fields that these documents use are supported; any other member raises KeyError.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from virtshape.api.model import JsonObject

_EncodeField = Callable[[Any], bytes]


class _Message(NamedTuple):
    """Encoders of an object's members by name; `extensions` is the field number for `x-` members."""

    fields: dict[str, _EncodeField]
    extensions: int = 0


def encode_document(tree: JsonObject) -> bytes:
    """Encode a document; raise KeyError for an unknown member."""
    return _encode(_DOCUMENT, tree)


def _encode(message: _Message, tree: JsonObject) -> bytes:
    parts = []
    for name, value in tree.items():
        if name.startswith("x-") and message.extensions:
            parts.append(_piece(message.extensions, _encode_named(name, _encode_any(value))))
        else:
            parts.append(message.fields[name](value))
    return b"".join(parts)


def _encode_named(name: str, content: bytes) -> bytes:
    return _piece(1, name.encode()) + _piece(2, content)


def _encode_any(value: object) -> bytes:
    return _piece(2, msgspec.json.encode(value))  # the field contains YAML, of which JSON is a subset


def _piece(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _text(number: int) -> _EncodeField:
    return lambda value: _piece(number, value.encode())


def _texts(number: int) -> _EncodeField:
    return lambda values: b"".join(_piece(number, value.encode()) for value in values)


def _flag(number: int) -> _EncodeField:
    return lambda value: _varint(number << 3) + _varint(int(value))


def _double(number: int) -> _EncodeField:
    return lambda value: _varint(number << 3 | 1) + struct.pack("<d", value)


def _anything(number: int) -> _EncodeField:
    return lambda values: b"".join(_piece(number, _encode_any(value)) for value in values)


def _one(number: int, encode: _EncodeField) -> _EncodeField:
    return lambda value: _piece(number, encode(value))


def _many(number: int, encode: _EncodeField) -> _EncodeField:
    return lambda values: b"".join(_piece(number, encode(value)) for value in values)


def _by_name(number: int, encode: _EncodeField) -> _EncodeField:
    return lambda values: b"".join(_piece(number, _encode_named(name, encode(value))) for name, value in values.items())


def _encode_schema(tree: JsonObject) -> bytes:
    return _encode(_SCHEMA, tree)


def _encode_additional_properties(value: JsonObject | bool) -> bytes:
    return _flag(2)(value) if isinstance(value, bool) else _piece(1, _encode_schema(value))


def _encode_type(value: str) -> bytes:
    return _piece(1, value.encode())


def _encode_parameter(tree: JsonObject) -> bytes:
    match tree["in"]:
        case "body":
            parameter = _piece(1, _encode(_BODY_PARAMETER, tree))
        case "query":
            parameter = _piece(2, _piece(3, _encode(_QUERY_PARAMETER, tree)))
        case "path":
            parameter = _piece(2, _piece(4, _encode(_PATH_PARAMETER, tree)))
        case place:
            raise KeyError(place)
    return _piece(1, parameter)


def _encode_response(tree: JsonObject) -> bytes:
    return _piece(1, _encode(_RESPONSE, tree))


def _encode_operation(tree: JsonObject) -> bytes:
    return _encode(_OPERATION, tree)


def _encode_path(tree: JsonObject) -> bytes:
    return _encode(_PATH, tree)


def _encode_info(tree: JsonObject) -> bytes:
    return _encode(_INFO, tree)


_SCHEMA = _Message(
    {
        "$ref": _text(1),
        "format": _text(2),
        "description": _text(4),
        "default": _one(5, _encode_any),
        "maximum": _double(7),
        "minimum": _double(9),
        "pattern": _text(13),
        "required": _texts(19),
        "enum": _anything(20),
        "additionalProperties": _one(21, _encode_additional_properties),
        "type": _one(22, _encode_type),
        "items": _one(23, _one(1, _encode_schema)),
        "properties": _one(25, _by_name(1, _encode_schema)),
    },
    extensions=31,
)
_BODY_PARAMETER = _Message({"name": _text(2), "in": _text(3), "required": _flag(4), "schema": _one(5, _encode_schema)})
_QUERY_PARAMETER = _Message({"in": _text(2), "description": _text(3), "name": _text(4), "type": _text(6)})
_PATH_PARAMETER = _Message(
    {"required": _flag(1), "in": _text(2), "description": _text(3), "name": _text(4), "type": _text(5)}
)
_RESPONSE = _Message({"description": _text(1), "schema": _one(2, _one(1, _encode_schema))})
_OPERATION = _Message(
    {
        "tags": _texts(1),
        "description": _text(3),
        "operationId": _text(5),
        "produces": _texts(6),
        "consumes": _texts(7),
        "parameters": _many(8, _encode_parameter),
        "responses": _one(9, _by_name(1, _encode_response)),
    },
    extensions=13,
)
_PATH = _Message(
    {
        "get": _one(2, _encode_operation),
        "put": _one(3, _encode_operation),
        "post": _one(4, _encode_operation),
        "delete": _one(5, _encode_operation),
        "patch": _one(8, _encode_operation),
        "parameters": _many(9, _encode_parameter),
    }
)
_INFO = _Message({"title": _text(1), "version": _text(2)})
_DOCUMENT = _Message(
    {
        "swagger": _text(1),
        "info": _one(2, _encode_info),
        "paths": _one(8, _by_name(2, _encode_path)),
        "definitions": _one(9, _by_name(1, _encode_schema)),
    }
)
