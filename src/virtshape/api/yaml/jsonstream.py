"""
Parse a sequence of JSON objects in a text, as kubectl does.

Numbers are parsed as in kubectl: 1e3 is the integer 1000. Duplicate keys are rejected.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from virtshape.api.model import JsonObject
from virtshape.api.yaml.position import Position, TextError, position_of
from virtshape.api.yaml.scalars import as_value

_SPACE = re.compile(r"\s*")


class JSONObject(NamedTuple):
    """A JSON object: its text, the position where it starts, and its tree."""

    text: str
    start: Position
    tree: Any


class JSONStream(NamedTuple):
    """The objects in a text, the offset where parsing ended, and the error that ended it, if any."""

    objects: list[JSONObject]
    end: int
    complaint: TextError | None = None


def read_json_stream(text: str, most: int | None = None) -> JSONStream:
    """Parse objects until the end of the text, the first error, or `most` objects."""
    objects: list[JSONObject] = []
    start, begin = Position(1, 1), 0
    while True:
        offset = _SPACE.match(text, begin).end()  # type: ignore[union-attr]
        start = position_of(text[begin:offset], offset - begin).within(start)
        if offset == len(text) or len(objects) == most:
            return JSONStream(objects, offset)
        try:
            tree, end = _decoder.raw_decode(text, offset)
        except json.JSONDecodeError as error:
            position = position_of(text[offset:], error.pos - offset).within(start)
            return JSONStream(objects, offset, TextError(position, f"invalid JSON: {_lower(error.msg)}"))
        except (ValueError, RecursionError) as error:
            return JSONStream(objects, offset, TextError(start, f"invalid JSON: {_lower(str(error))}"))
        piece = text[offset:end]
        if "\\ud" in piece.lower() and not _is_encodable(tree):
            return JSONStream(objects, offset, TextError(start, "a string contains an unpaired surrogate"))
        objects.append(JSONObject(piece, start, tree))
        start, begin = position_of(piece, len(piece)).within(start), end


def _read_object(pairs: list[tuple[str, Any]]) -> JsonObject:
    tree = dict(pairs)
    if len(tree) == len(pairs):
        return tree
    seen: set[str] = set()
    duplicate = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    raise ValueError(f'the key "{duplicate}" appears twice in the same object')


def _is_encodable(tree: Any) -> bool:
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


_decoder = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_float=lambda text: as_value(float(text)),
    parse_constant=_refuse_constant,
)
