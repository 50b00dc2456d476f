"""
Parse objects from text as kubectl does: YAML documents, sequences of JSON objects, and the items of Lists.

    StatusError
    └── YAMLError       invalid text, with its source, line and column

The content of the objects is not checked here.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from virtshape.api.path import Part, parse_path
from virtshape.api.status import StatusError
from virtshape.api.yaml.position import Position, TextError, position_of
from virtshape.api.yaml.simpletree import NOT_SIMPLE, read_simple_tree

_SEPARATOR = re.compile(r"^---(.*)$", re.MULTILINE)
MAX_PARTS = 1000
"""Maximum number of documents in a text, including empty ones, if the caller limits the number of objects."""
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class YAMLError(StatusError):
    """The text cannot be parsed; the message has the name of the source, the position and the problem."""

    def __init__(self, source: str, position: tuple[int, int], problem: str) -> None:
        self.source = source
        self.line, self.column = position
        self.problem = problem
        super().__init__(400, "BadRequest", f"{source}:{self.line}:{self.column}: {problem}")


class Document:
    """An object in a text: its tree, its source and the positions of its fields."""

    __slots__ = ("_part", "_path", "source", "tree")

    def __init__(self, tree: Any, source: str, part: "_DocumentText", path: tuple[Part, ...] = ()) -> None:
        self.tree = tree
        self.source = source
        self._part = part
        self._path = path

    def position(self, path: str = "") -> tuple[int, int]:
        """Return the line and column of the field's key, from 1; for an absent field, those of its nearest parent."""
        positions = _index(self._part)
        steps = (*map(str, self._path), *parse_path(path))
        while steps and steps not in positions:
            steps = steps[:-1]
        return positions[steps].within(self._part.start)


class _DocumentText(NamedTuple):
    """One document in a text, with its position."""

    text: str
    start: Position
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
                yield YAMLError(source, tree.position, tree.problem)
            else:
                yield from _take_apart(tree, source, part)
    except TextError as error:
        yield YAMLError(source, error.position, error.problem)


def _decode(text: str | bytes) -> str:
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    if text.startswith(_UTF_16_MARKS):
        raise TextError(Position(1, 1), "the text is UTF-16: save it as UTF-8")
    text = text.removeprefix(BOM_UTF8)
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        position = position_of(text[: error.start].decode(), error.start)
        raise TextError(position, "this is not UTF-8 text") from None


def _read_parts(text: str, most: int | None) -> Iterator[tuple[_DocumentText, Any]]:
    if text.lstrip()[:1] != "{":
        yield from _read_yaml(text, Position(1, 1))
        return
    # Imported here, because few files are JSON.
    from virtshape.api.yaml.jsonstream import read_json_stream

    objects, end, complaint = read_json_stream(text, most)
    for piece, start, tree in objects:
        yield _DocumentText(piece, start, is_json=True), tree
    if complaint is None:
        return
    if len(objects) > 1:
        raise complaint
    for part, tree in _read_yaml(text[end:], position_of(text, end)):
        if isinstance(tree, TextError) and tree.position <= complaint.position:
            yield part, complaint  # neither JSON nor YAML: report the error of the parser that got further
        else:
            yield part, tree


def _read_yaml(text: str, start: Position) -> Iterator[tuple[_DocumentText, Any]]:
    """Yield each document with its tree; for an invalid document, yield a TextError instead and continue."""
    for piece, position in _split(text):
        part = _DocumentText(piece.removeprefix("\ufeff"), position.within(start))
        tree = read_simple_tree(part.text)
        yield part, _parse(part) if tree is NOT_SIMPLE else tree


def _parse(part: _DocumentText) -> Any:
    # Imported here, because loading the parser takes longer than most commands.
    from virtshape.api.yaml.tree import read_tree

    try:
        return read_tree(part.text)
    except TextError as error:
        return TextError(error.position.within(part.start), error.problem)


def _split(text: str) -> Iterator[tuple[str, Position]]:
    """Split the text at `---` lines into documents, each with a final newline, which literal blocks depend on."""
    begin, line = 0, 1
    for separator in _SEPARATOR.finditer(text):
        piece = text[begin : separator.start()]
        yield piece, Position(line, 1)
        line += piece.count("\n") + 1
        begin = separator.end() + 1
        rest = separator[1].strip()
        if rest and not rest.startswith("#"):
            raise TextError(Position(line - 1, 4), 'only a comment can follow "---" on its line')
    yield text[begin:] + ("" if text.endswith("\n") else "\n"), Position(line, 1)


def _take_apart(tree: Any, source: str, part: _DocumentText, path: tuple[Part, ...] = ()) -> Iterator[Document]:
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
def _index(part: _DocumentText) -> dict[tuple[str, ...], Position]:
    # Imported here, because only errors need positions.
    from virtshape.api import jsontext
    from virtshape.api.yaml import tree

    positions: dict[tuple[str, ...], Position] = {}
    found: Iterable[tuple[tuple[Part, ...], Position]]
    if part.is_json:
        found = ((path, position_of(part.text, offset)) for path, offset in jsontext.scan_keys(part.text))
    else:
        found = tree.scan_keys(part.text)
    for path, position in found:
        positions.setdefault((), position)
        positions[tuple(map(str, path))] = position
    return positions or {(): Position(1, 1)}
