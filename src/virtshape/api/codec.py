"""
Strict decoding and encoding of structs.

Valid input takes msgspec's fast path. Invalid input raises one error with all problems.
"""

from typing import Any, TypeVar

import msgspec

from virtshape.api.kinds import find_kind
from virtshape.api.model import Model
from virtshape.api.problems import DecodeError

T = TypeVar("T")


class _StatedKind(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str


def decode(data: bytes | str, struct: type[T]) -> T:
    """Decode JSON as this struct, or raise DecodeError with all problems."""
    try:
        return _decoder(struct).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(_read_json(data), struct, error) from error


def decode_object(data: bytes | str) -> Model:
    """Decode JSON to the struct of its kind; raise DecodeError if the kind is unknown or the object is invalid."""
    try:
        stated = _stated_kind.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        stated = None
    kind = find_kind(stated.api_version, stated.kind) if stated else None
    return decode(data, kind.struct if kind else get_struct(_read_json(data)))


def encode(value: object) -> bytes:
    """Encode a struct as JSON."""
    return _encoder.encode(value)


def duplicate(value: T) -> T:
    """Return a deep copy of a struct, by encoding and decoding it, which is faster than `copy.deepcopy`."""
    return _decoder(type(value)).decode(_encoder.encode(value))


def from_tree(tree: object, struct: type[T]) -> T:
    """Convert plain dicts and lists to this struct, or raise DecodeError with all problems."""
    try:
        return msgspec.convert(tree, struct, dec_hook=_read_scalar)
    except msgspec.ValidationError as error:
        raise _explain(tree, struct, error) from error


def get_struct(tree: object) -> type[Model]:
    """Return the struct for the tree's kind; raise DecodeError with a suggestion if the kind is unknown."""
    if isinstance(tree, dict):
        api_version, name = tree.get("apiVersion"), tree.get("kind")
        kind = find_kind(api_version, name) if isinstance(api_version, str) and isinstance(name, str) else None
        if kind is not None:
            return kind.struct
    # Imported here, because only errors need this module.
    from virtshape.api.diagnosis import find_kind_problems

    raise DecodeError(find_kind_problems(tree))


def to_tree(value: object) -> Any:
    """Convert a struct to plain dicts and lists."""
    return msgspec.to_builtins(value, enc_hook=str)


def _explain(tree: object, struct: type, refusal: Exception) -> DecodeError:
    # Imported here, because only errors need this module.
    from virtshape.api.diagnosis import find_problems

    return DecodeError(find_problems(tree, struct, str(refusal)))


def _read_json(data: bytes | str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        from virtshape.api.jsontext import explain_syntax  # imported here, because only errors need this module

        raise DecodeError([explain_syntax(data)]) from error


def _read_scalar(scalar: type, value: Any) -> Any:
    return scalar(value)


def _decoder(struct: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(struct)
    if decoder is None:
        decoder = _decoders[struct] = msgspec.json.Decoder(struct, dec_hook=_read_scalar)
    return decoder


_stated_kind = msgspec.json.Decoder(_StatedKind)
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_encoder = msgspec.json.Encoder(enc_hook=str)
