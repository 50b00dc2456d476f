"""
Parse objects from text as kubectl does: YAML documents, sequences of JSON objects, and the items of Lists.

    StatusError
    └── YAMLError       invalid text, with its source, line and column

The content of the objects is not checked here.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from virtshape.api.path import Part, parse_path
from virtshape.api.status import StatusError
from virtshape.api.yaml.place import Place, TextError, place_of

_SEPARATOR = re.compile(r"^---(.*)$", re.MULTILINE)
MAX_PARTS = 1000
"""Maximum number of documents, including empty ones, if the number of objects is limited."""
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class YAMLError(StatusError):
    """The text cannot be parsed; the error has its source, the position and the problem."""

    def __init__(self, source: str, place: tuple[int, int], problem: str) -> None:
        self.source = source
        self.line, self.column = place
        self.problem = problem
        super().__init__(400, "BadRequest", f"{source}:{self.line}:{self.column}: {problem}")


class Document:
    """An object in a text: its tree, its source and the positions of its fields."""

    __slots__ = ("_part", "_path", "source", "tree")

    def __init__(self, tree: Any, source: str, part: "_Part", path: tuple[Part, ...] = ()) -> None:
        self.tree = tree
        self.source = source
        self._part = part
        self._path = path

    def position(self, path: str = "") -> tuple[int, int]:
        """Return the line and column, from 1, of the field's key, or of its nearest parent if the field is absent."""
        places = _index(self._part)
        steps = (*map(str, self._path), *parse_path(path))
        while steps and steps not in places:
            steps = steps[:-1]
        return places[steps].within(self._part.start)


class _Part(NamedTuple):
    """A part of a text with one document."""

    text: str
    start: Place
    is_json: bool = False


def read_documents(text: str | bytes, source: str = "<stdin>", *, most: int | None = None) -> list[Document]:
    """Return up to `most` objects, or raise YAMLError; Lists are split into items, and empty documents are skipped."""
    documents = []
    for document in islice(scan_documents(text, source, most=most), most):
        if isinstance(document, YAMLError):
            raise document
        documents.append(document)
    return documents


def scan_documents(
    text: str | bytes, source: str = "<stdin>", *, most: int | None = None
) -> Iterator[Document | YAMLError]:
    """Yield the objects in a text as `read_documents` returns them, and an error for each invalid document."""
    try:
        for number, (part, tree) in enumerate(_read_parts(_decode(text), most)):
            if most is not None and number >= MAX_PARTS:
                yield YAMLError(source, part.start, f"more than {MAX_PARTS} documents")
                return
            if isinstance(tree, TextError):
                yield YAMLError(source, tree.place, tree.problem)
            else:
                yield from _take_apart(tree, source, part)
    except TextError as error:
        yield YAMLError(source, error.place, error.problem)


def _decode(text: str | bytes) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if text.startswith(_UTF_16_MARKS):
        raise TextError(Place(1, 1), "the text is UTF-16: save it as UTF-8")
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = place_of(text[: error.start].decode(), error.start)
        raise TextError(place, "this is not UTF-8 text") from None


def _read_parts(text: str, most: int | None) -> Iterator[tuple[_Part, Any]]:
    if text.lstrip()[:1] != "{":
        yield from _read_yaml(text, Place(1, 1))
        return
    # Imported here, because few files are JSON.
    from virtshape.api.yaml.jsonstream import read_json_stream

    objects, end, complaint = read_json_stream(text, most)
    for piece, start, tree in objects:
        yield _Part(piece, start, is_json=True), tree
    if complaint is None:
        return
    if len(objects) > 1:
        raise complaint
    for part, tree in _read_yaml(text[end:], place_of(text, end)):
        if isinstance(tree, TextError) and tree.place <= complaint.place:
            yield part, complaint  # neither JSON nor YAML: report the error of the parser that got further
        else:
            yield part, tree


def _read_yaml(text: str, start: Place) -> Iterator[tuple[_Part, Any]]:
    """Yield each document with its tree; for an invalid document, yield a TextError instead and continue."""
    # Imported here, because loading the parser takes longer than most commands.
    from virtshape.api.yaml.tree import read_tree

    for piece, place in _split(text):
        part = _Part(piece.removeprefix("\ufeff"), place.within(start))
        try:
            tree = read_tree(part.text)
        except TextError as error:
            tree = TextError(error.place.within(part.start), error.problem)
        yield part, tree


def _split(text: str) -> Iterator[tuple[str, Place]]:
    """Split the text at `---` lines; each part ends with a newline, since literal blocks depend on it."""
    begin, line = 0, 1
    for separator in _SEPARATOR.finditer(text):
        piece = text[begin : separator.start()]
        yield piece, Place(line, 1)
        line += piece.count("\n") + 1
        begin = separator.end() + 1
        rest = separator[1].strip()
        if rest and not rest.startswith("#"):
            raise TextError(Place(line - 1, 4), 'only a comment can follow "---" on its line')
    yield text[begin:] + ("" if text.endswith("\n") else "\n"), Place(line, 1)


def _take_apart(tree: Any, source: str, part: _Part, path: tuple[Part, ...] = ()) -> Iterator[Document]:
    kind = tree.get("kind") if isinstance(tree, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(tree.get("items"), list):
        item_kind = kind.removesuffix("List")
        for index, item in enumerate(tree["items"]):
            if item_kind and isinstance(item, dict):
                item = {"apiVersion": tree.get("apiVersion"), "kind": item_kind, **item}
            yield from _take_apart(item, source, part, (*path, "items", index))
    elif tree is not None:
        yield Document(tree, source, part, path)


@lru_cache(maxsize=4)  # callers ask for all positions in one document before they continue with the next
def _index(part: _Part) -> dict[tuple[str, ...], Place]:
    # Imported here, because only errors need positions.
    from virtshape.api import jsontext
    from virtshape.api.yaml import tree

    places: dict[tuple[str, ...], Place] = {}
    found: Iterable[tuple[tuple[Part, ...], Place]]
    if part.is_json:
        found = ((path, place_of(part.text, offset)) for path, offset in jsontext.scan_keys(part.text))
    else:
        found = tree.scan_keys(part.text)
    for path, place in found:
        places.setdefault((), place)
        places[tuple(map(str, path))] = place
    return places or {(): Place(1, 1)}
