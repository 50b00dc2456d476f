"""
Build plain dicts and lists from the parser's events for one YAML document.

Aliases are copied and merge keys are applied. The expansion of aliases is limited in nodes and bytes, so that a small
text cannot become a large object. Positions are not stored: only error messages need them, and `scan_keys` parses
the text again.
"""

from collections.abc import Callable, Iterator
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from virtshape.api.path import Part
from virtshape.api.yaml.errors import explain_error
from virtshape.api.yaml.position import Position, TextError, shorten
from virtshape.api.yaml.scalars import YAML_TAGS, Scalar, as_key, as_value, read_plain, read_tagged

MAX_DEPTH = 200
MAX_COPIED = 400_000
"""Maximum number of nodes that the aliases of a document expand to."""
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""Maximum bytes of keys and scalars that aliases expand to; equal to the maximum size of a request body."""

_NO_KEY = object()
_MERGE = object()
_OPEN = object()


class PureParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """The Python parser, used if the C parser is not available."""

    def __init__(self, text: str) -> None:
        yaml.reader.Reader.__init__(self, text)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


try:
    from yaml._yaml import CParser
except ImportError:
    Parser: type[CParser | PureParser] = PureParser
else:
    Parser = CParser


def read_tree(text: str) -> Any:
    """Parse the only document in the text; return None if it is empty, and raise TextError if it is invalid."""
    builder = _Builder()
    handlers = builder.handlers
    try:
        next_event = Parser(text).get_event
        while (event := next_event()) is not None:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
    except yaml.YAMLError as error:
        raise explain_error(error, text) from None
    return builder.root


class _Builder:
    """Builds the tree from events; keeps the open container, the pending key and the enclosing containers."""

    def __init__(self) -> None:
        self.root: Any = None
        self.handlers: dict[type[Event], Callable[[Any], None]] = {
            ScalarEvent: self._take_scalar,
            AliasEvent: self._take_alias,
            MappingStartEvent: self._open,
            SequenceStartEvent: self._open,
            MappingEndEvent: self._close,
            SequenceEndEvent: self._close,
        }
        self._container: dict[str, Any] | list[Any] | None = None
        self._key: Any = _NO_KEY
        self._merged: set[str] | None = None
        self._around: list[tuple[Any, Any, set[str] | None, str | None]] = []
        self._anchors: dict[str, Any] = {}
        self._copied = 0
        self._copied_bytes = 0

    def _take_scalar(self, event: ScalarEvent) -> None:
        try:
            value = _read_scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = value
            if self._key is _NO_KEY and type(self._container) is dict:
                self._key = _MERGE if _is_merge(event) else self._new_key(self._container, as_key(value))
            else:
                self._put(as_value(value) if type(value) is float else value)
        except ValueError as error:
            raise _mistake(event, str(error)) from None

    def _take_alias(self, event: AliasEvent) -> None:
        value = self._anchors.get(event.anchor or "", _NO_KEY)
        if value is _NO_KEY:
            name = shorten(event.anchor or "")
            raise _mistake(event, f"unknown alias *{name}: no &{name} comes before it")
        if value is _OPEN:
            raise _mistake(event, f"&{shorten(event.anchor or '')} contains itself")
        if isinstance(value, list) and self._key is _MERGE:
            raise _mistake(event, "only objects can be merged with <<")
        try:
            if self._key is _NO_KEY and type(self._container) is dict:
                key = as_key(value)
                self._count(1, key)
                self._key = self._new_key(self._container, key)
            else:
                self._put(self._copy(value, len(self._around)))
        except ValueError as error:
            raise _mistake(event, str(error)) from None

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if self._key is _NO_KEY and type(self._container) is dict:
            raise _mistake(event, "a list or an object cannot be a key; quote text that begins with { or [")
        if len(self._around) >= MAX_DEPTH:
            raise _mistake(event, f"the document is nested more than {MAX_DEPTH} levels deep")
        if event.anchor is not None:
            self._anchors[event.anchor] = _OPEN
        self._around.append((self._container, self._key, self._merged, event.anchor))
        self._container = {} if type(event) is MappingStartEvent else []
        self._key = _NO_KEY
        self._merged = None

    def _close(self, event: MappingEndEvent | SequenceEndEvent) -> None:
        value = self._container
        self._container, self._key, self._merged, anchor = self._around.pop()
        if anchor is not None:
            self._anchors[anchor] = value
        try:
            self._put(value)
        except ValueError as error:
            raise _mistake(event, str(error)) from None

    def _put(self, value: Any) -> None:
        if type(self._container) is dict:
            if self._key is _MERGE:
                self._merge(self._container, value)
            else:
                self._container[self._key] = value
            self._key = _NO_KEY
        elif type(self._container) is list:
            self._container.append(value)
        else:
            self.root = value

    def _new_key(self, container: dict[str, Any], key: str) -> str:
        if key in container:
            if self._merged is None or key not in self._merged:
                raise ValueError(f'the key "{shorten(key)}" appears twice in the same object')
            self._merged.discard(key)
        return key

    def _merge(self, container: dict[str, Any], value: Any) -> None:
        """Apply `<<` as kubectl does: merged keys replace earlier keys, and later keys replace merged keys."""
        sources = value if isinstance(value, list) else [value]
        if self._merged is None:
            self._merged = set()
        for source in reversed(sources):
            if not isinstance(source, dict):
                raise ValueError("only objects can be merged with <<")  # noqa: TRY004 - the text is wrong, not our types
            self._merged |= source.keys() - container.keys()
            container.update(source)

    def _copy(self, value: Any, depth: int) -> Any:
        """Copy the value of an alias, and count its nodes and bytes."""
        if not isinstance(value, dict | list):
            self._count(1, value)
            return as_value(value) if isinstance(value, float) else value
        if depth >= MAX_DEPTH:
            raise ValueError(f"with its aliases, the document is nested more than {MAX_DEPTH} levels deep")
        self._count(1, None)
        if isinstance(value, list):
            return [self._copy(item, depth + 1) for item in value]
        copied = {}
        for key, item in value.items():
            self._count(0, key)
            copied[key] = self._copy(item, depth + 1)
        return copied

    def _count(self, nodes: int, scalar: object) -> None:
        """Count a node that an alias adds and the bytes of its key or scalar; raise ValueError above the limit."""
        self._copied += nodes
        if isinstance(scalar, str):
            self._copied_bytes += len(scalar) if scalar.isascii() else len(scalar.encode())
        if self._copied > MAX_COPIED:
            raise ValueError(f"the aliases of this document expand to more than {MAX_COPIED} nodes")
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise ValueError(f"the aliases of this document expand to more than {MAX_COPIED_BYTES} bytes")


def scan_keys(text: str) -> Iterator[tuple[tuple[Part, ...], Position]]:
    """Yield the path and position of every key and list item; `read_tree` must accept the text."""
    path: list[Part] = []
    awaits_key = False
    anchors: dict[str, Scalar] = {}
    next_event = Parser(text).get_event
    while (event := next_event()) is not None:
        if isinstance(event, ScalarEvent) and event.anchor is not None:
            anchors[event.anchor] = _read_scalar(event)
        if isinstance(event, MappingEndEvent | SequenceEndEvent):
            path.pop()
        elif not isinstance(event, NodeEvent):
            continue
        elif awaits_key:
            path[-1] = _key_text(event, anchors)
            awaits_key = False
            yield tuple(path), _position(event)
            continue
        elif path and isinstance(path[-1], int):
            yield tuple(path), _position(event)
        if isinstance(event, CollectionStartEvent):
            path.append("" if isinstance(event, MappingStartEvent) else 0)
        elif path and isinstance(path[-1], int):
            path[-1] += 1
        awaits_key = bool(path) and isinstance(path[-1], str)


def _read_scalar(event: ScalarEvent) -> Scalar:
    if event.tag is not None:
        return read_tagged(event.tag, event.value)
    return read_plain(event.value) if event.implicit[0] else event.value


def _key_text(event: NodeEvent, anchors: dict[str, Scalar]) -> str:
    if isinstance(event, ScalarEvent):
        return event.value if _is_merge(event) else as_key(_read_scalar(event))
    return as_key(anchors[event.anchor or ""])


def _is_merge(event: ScalarEvent) -> bool:
    return event.value == "<<" and (event.implicit[0] or event.tag == YAML_TAGS + "merge")


def _position(event: Event) -> Position:
    mark = event.start_mark
    return Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)


def _mistake(event: Event, message: str) -> TextError:
    return TextError(_position(event), message)
