"""
Parse simple YAML line by line: the syntax that most manifests consist of, in a third of the parser's time.

Simple documents have printable ASCII text: block mappings and lists, scalars on one line, empty `{}` and `[]`, literal
blocks and comments. If any line has other syntax, or may be invalid, the caller uses the parser for the document.
"""

import re
from typing import Any, Final

from virtshape.api.yaml.scalars import CONSTANTS, read_plain

NOT_SIMPLE: Final = object()
"""The result for a document that has other syntax or is invalid."""

_MAX_LENGTH: Final = 1024 * 1024  # all lines are in memory at once
_MAX_DEPTH: Final = 100
# Possessive quantifiers (`*+`) keep the time linear.
_WORD: Final = r"[!-9;-~]*+(?::(?=[!-~])[!-9;-~]*+)*+"
"""Visible characters; a colon is part of a word only if the word continues after it."""
_PLAIN: Final = rf"(?:[A-Za-z0-9_./+]|-(?=[A-Za-z0-9.])){_WORD}(?:[ ]++(?!\#)(?=[!-9;-~]|:[!-~]){_WORD})*+"
_VALUE: Final = rf"""{_PLAIN}|"[ !\#-\[\]-~]*+"|'[ -&(-~]*+'|\{{\}}|\[\]|\|-?"""
_LINE: Final = re.compile(
    rf"""
    (?P<indent>[ ]*+) (?P<dash>-[ ]++)? (?:(?P<key>[A-Za-z_][A-Za-z0-9_./-]{{0,200}}+):(?=[ \n]))?+
    [ ]*+ (?P<value>{_VALUE})? [ ]*+ (?:(?<![!-~])\#[ -~]*+)? \n
    | (?P<other>.+)
    """,
    re.VERBOSE,
)


def read_simple_tree(text: str) -> Any:
    """Parse the only document in the text; return None if it is empty, and NOT_SIMPLE if the parser must read it."""
    if len(text) > _MAX_LENGTH:
        return NOT_SIMPLE
    root: Any = None
    container: Any = None  # the innermost open mapping or list, and the column in which it starts
    column = -1
    around: list[tuple[Any, int]] = []
    pending: str | None = None  # the last key of the container, if its value can follow in the next lines
    lines: list[str] = []  # of the whole text, if it has literal blocks
    block_end = 0
    for number, (indent, dash, key, value, other) in enumerate(_LINE.findall(text)):
        if number < block_end:
            continue
        if not key and not dash:
            if value or other:
                return NOT_SIMPLE
            continue
        at = len(indent)
        while column > at or (column == at and not dash and type(container) is list):
            container, column = around.pop()
            pending = None
        if column != at or (dash and type(container) is dict):
            inner: Any = [] if dash else {}
            if container is None and root is None:
                root = inner
            elif pending is not None and len(around) < _MAX_DEPTH:
                container[pending] = inner
            else:
                return NOT_SIMPLE
            around.append((container, column))
            container, column = inner, at
        if dash and key:
            container.append({})
            around.append((container, column))
            container, column = container[-1], at + len(dash)
        if key and (key in container or key in CONSTANTS):
            return NOT_SIMPLE
        pending = None if value else key
        if value[:1] == "|":
            lines = lines or text.split("\n")[:-1]
            item, block_end = _read_literal(lines, number + 1, column, value)
        else:
            item = _read_value(value) if value else None
        if item is NOT_SIMPLE or not (key or value):
            return NOT_SIMPLE
        if key:
            container[key] = item
        else:
            container.append(item)
    return root


def _read_value(value: str) -> Any:
    if value[0] in "\"'":
        return value[1:-1]
    if value[0] in "{[":
        return {} if value == "{}" else []
    try:
        scalar = read_plain(value)
    except ValueError:  # a number with too many digits
        return NOT_SIMPLE
    return NOT_SIMPLE if type(scalar) is float else scalar  # some floats are invalid


def _read_literal(lines: list[str], begin: int, column: int, style: str) -> tuple[Any, int]:
    """Return the text of the literal block that begins in a line, and the number of the line after it."""
    indent = longest_blank = 0
    end = begin
    while end < len(lines):
        line = lines[end]
        spaces = len(line) - len(line.lstrip(" "))
        if spaces == len(line):
            longest_blank = max(longest_blank, spaces)
        elif spaces <= column:
            break
        else:
            indent = indent or spaces
            if spaces < indent or not (line.isascii() and line.isprintable()):
                return NOT_SIMPLE, end
        end += 1
    if not indent or longest_blank > indent:  # without content, or with blank lines that may be content
        return NOT_SIMPLE, end
    content = "\n".join(line[indent:] for line in lines[begin:end]).rstrip("\n")
    return content if style == "|-" else f"{content}\n", end
