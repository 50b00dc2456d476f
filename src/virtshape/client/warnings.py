"""Parsing of Warning headers."""

import re

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """Return the texts of the Warning headers of a response."""
    return [_ESCAPE.sub(r"\1", text) for text in _WARNING.findall(header)]
