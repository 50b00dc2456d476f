"""
Structs from bytes and back: strict, and fast where the input is right.

Never guesses: what does not fit the struct is refused, with all problems at once.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec

from virtshape.api.quantity import Quantity

T = TypeVar("T")


def decode(data: bytes | str, struct: type[T]) -> T:
    """The struct that the JSON text stands for."""
    return _decoder(struct).decode(data)


def encode(value: object) -> bytes:
    """The JSON text of a struct."""
    return _encoder.encode(value)


def from_tree(tree: object, struct: type[T]) -> T:
    """The struct that plain dicts and lists stand for."""
    return msgspec.convert(tree, struct, dec_hook=_read_scalar)


def to_tree(value: object) -> Any:
    """The plain dicts and lists of a struct."""
    return msgspec.to_builtins(value, enc_hook=str)


def _read_scalar(scalar: type, value: Any) -> Any:
    return Quantity(value)


@cache
def _decoder(struct: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(struct, dec_hook=_read_scalar)


_encoder = msgspec.json.Encoder(enc_hook=str)
