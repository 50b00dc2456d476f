"""
Structs from bytes and back: strict, and fast where the input is right.

Never guesses: what does not fit the struct is refused, with all problems at once.
"""

from typing import Any, TypeVar

import msgspec

from virtshape.api.problems import DecodeError

T = TypeVar("T")


def decode(data: bytes | str, struct: type[T]) -> T:
    """Read the JSON text as this struct; DecodeError names all that is wrong with it."""
    try:
        return _decoder(struct).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _explain(_read_json(data), struct, error) from error


def encode(value: object) -> bytes:
    """Write a struct as JSON text."""
    return _encoder.encode(value)


def from_tree(tree: object, struct: type[T]) -> T:
    """Read plain dicts and lists as this struct; DecodeError names all that is wrong with them."""
    try:
        return msgspec.convert(tree, struct, dec_hook=_read_scalar)
    except msgspec.ValidationError as error:
        raise _explain(tree, struct, error) from error


def to_tree(value: object) -> Any:
    """Turn a struct into plain dicts and lists."""
    return msgspec.to_builtins(value, enc_hook=str)


def _explain(tree: object, struct: type, refusal: Exception) -> DecodeError:
    # Imported now, since good input never needs it.
    from virtshape.api.diagnosis import find_problems

    return DecodeError(find_problems(tree, struct, str(refusal)))


def _read_json(data: bytes | str) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        from virtshape.api.jsontext import explain_syntax  # as above

        raise DecodeError([explain_syntax(data)]) from error


def _read_scalar(scalar: type, value: Any) -> Any:
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"Expected `{scalar.__name__}`")
    return scalar(str(value))


def _decoder(struct: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(struct)
    if decoder is None:
        decoder = _decoders[struct] = msgspec.json.Decoder(struct, dec_hook=_read_scalar)
    return decoder


_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_encoder = msgspec.json.Encoder(enc_hook=str)
