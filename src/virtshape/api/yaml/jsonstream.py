"""
JSON objects one after another in a text, as kubectl takes them.

Reads numbers as kubectl does: 1e3 is the integer 1000. Refuses an object that has a key twice.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from virtshape.api.yaml.place import Place, TextError, place_of
from virtshape.api.yaml.scalars import as_value

_SPACE = re.compile(r"\s*")


class JSONObject(NamedTuple):
    """One object: its text, where it begins, and its tree."""

    text: str
    start: Place
    tree: Any


class JSONStream(NamedTuple):
    """The objects of a text, and where and why reading stopped before its end."""

    objects: list[JSONObject]
    end: int
    complaint: TextError | None = None


def read_json_stream(text: str, most: int | None = None) -> JSONStream:
    """Read objects up to the end of the text or the first thing that is not JSON, at most so many."""
    objects: list[JSONObject] = []
    start, begin = Place(1, 1), 0
    while True:
        offset = _SPACE.match(text, begin).end()  # type: ignore[union-attr]
        start = place_of(text[begin:offset], offset - begin).within(start)
        if offset == len(text) or len(objects) == most:
            return JSONStream(objects, offset)
        try:
            tree, end = _decoder.raw_decode(text, offset)
        except json.JSONDecodeError as error:
            place = place_of(text[offset:], error.pos - offset).within(start)
            return JSONStream(objects, offset, TextError(place, f"invalid JSON: {_lower(error.msg)}"))
        except (ValueError, RecursionError) as error:
            return JSONStream(objects, offset, TextError(start, f"invalid JSON: {_lower(str(error))}"))
        piece = text[offset:end]
        if "\\ud" in piece.lower() and not _has_whole_characters(tree):
            return JSONStream(objects, offset, TextError(start, "a string holds half of a surrogate pair"))
        objects.append(JSONObject(piece, start, tree))
        start, begin = place_of(piece, len(piece)).within(start), end


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) == len(pairs):
        return tree
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    raise ValueError(f'the key "{twice}" stands twice in the same object')


def _has_whole_characters(tree: Any) -> bool:
    try:
        json.dumps(tree, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]


_decoder = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_float=lambda text: as_value(float(text)),
    parse_constant=_refuse_constant,
)
