"""
Write YAML as kubectl does: two-space indentation, lists not indented below their keys, no aliases, no folded lines.

Differences from kubectl: keys keep their order, multi-line strings are `|` blocks wherever that is safe, and printable
characters such as emojis are not escaped.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from virtshape.api.model import JsonObject
from virtshape.api.yaml.scalars import as_value, is_ambiguous

_MAX_SIMPLE_KEY_LENGTH = 1000  # parsers reject a simple key that is longer than 1024 characters

_PRINTABLE = "\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPED = f'[^{_PRINTABLE}]|["\\\\]'
_ONE_LINE = f"[{_PRINTABLE}]+"
_BLOCK = f"(?s)(?=.*[^ \n])[{_PRINTABLE}\t\n]*\n[{_PRINTABLE}\t\n]*(?<![ \t])"
_NEEDS_QUOTES = re.compile(
    r"""
    [ #,\[\]{}&*!|>'"%@`]    # an indicator or a space at the beginning
    | [-?:](?:[ ]|$)         # an indicator if a space follows
    | ---|\.\.\.             # looks like the border of a document
    | .*(?::[ ]|[ ]\#)       # looks like a key or a comment
    | .*[ :]$                # would lose its last character
    """,
    re.VERBOSE,
)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because compiling it takes milliseconds and the pattern is rarely needed."""
    return re.compile(text)


def write_yaml(tree: Any) -> str:
    """Return plain data as a YAML document that kubectl parses to the same data."""
    lines = _write_lines(tree, 0) if _is_nested(tree) else _write_entry("", tree, 0)
    return "".join(f"{line}\n" for line in lines)


def _write_lines(tree: JsonObject | list[Any], indent: int) -> Iterator[str]:
    pad = " " * indent
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _write_pair(pad, _write_text(key), value, indent)
        return
    for item in tree:
        if _is_nested(item):
            first, *rest = _write_lines(item, indent + 2)
            yield f"{pad}- {first.lstrip(' ')}"
            yield from rest
        else:
            yield from _write_entry(f"{pad}- ", item, indent)


def _write_pair(pad: str, key: str, value: Any, indent: int) -> Iterator[str]:
    colon = f"{pad}{key}:"
    is_simple = len(key) <= _MAX_SIMPLE_KEY_LENGTH
    if not is_simple:
        yield f"{pad}? {key}"
        colon = f"{pad}:"
    if not _is_nested(value):
        yield from _write_entry(f"{colon} ", value, indent)
        return
    yield colon
    yield from _write_lines(value, indent if isinstance(value, list) and is_simple else indent + 2)


def _write_entry(before: str, value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of a scalar: a single line or a block."""
    match value:
        case str() if "\n" in value and _pattern(_BLOCK).fullmatch(value):
            first, *rest = _write_block(value)
            yield before + first
            pad = " " * (indent + 2)
            yield from (pad + line if line else "" for line in rest)
        case str():
            yield before + _write_text(value)
        case None | bool():
            yield before + {None: "null", True: "true", False: "false"}[value]
        case int() | float():
            yield f"{before}{as_value(value)}"
        case dict() | list() if not value:
            yield before + ("{}" if isinstance(value, dict) else "[]")
        case _:
            raise TypeError(f"cannot write a {type(value).__name__} as YAML")


def _write_text(text: str) -> str:
    if not _is_one_line(text) or is_ambiguous(text):
        return f'"{_pattern(_ESCAPED).sub(_escape, text)}"'
    if _NEEDS_QUOTES.match(text):
        return "'{}'".format(text.replace("'", "''"))
    return str(text)


def _is_one_line(text: str) -> bool:
    if text.isascii():
        return bool(text) and text.isprintable()
    return _pattern(_ONE_LINE).fullmatch(text) is not None


def _write_block(text: str) -> Iterator[str]:
    """Yield the header of a block and its lines."""
    indentation = "2" if text[0] in " \t\n" else ""
    if not text.endswith("\n"):
        yield f"|{indentation}-"
        yield from text.split("\n")
    else:
        yield f"|{indentation}+" if text.endswith("\n\n") else f"|{indentation}"
        yield from text[:-1].split("\n")


def _escape(character: re.Match[str]) -> str:
    code = ord(character[0])
    if character[0] in _ESCAPES:
        return _ESCAPES[character[0]]
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"  # all characters above U+FFFF are printable


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)
