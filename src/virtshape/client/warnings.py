"""Warnings of a server, out of the headers that carry them."""

import re

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def parse_warnings(header: str) -> list[str]:
    """The texts in the Warning headers of an answer."""
    return [_ESCAPE.sub(r"\1", text) for text in _WARNING.findall(header)]
