"""
Field paths as in Kubernetes: `spec.disks[0].name`, `metadata.annotations[example.com/os]`.

A key follows a dot when it consists of letters, digits, `_` and `-`; any other key is in brackets.
A path alone does not show whether `[0]` is an item or a key.
"""

import re
from collections.abc import Iterable

Part = str | int

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STEP = re.compile(r"\[(?P<bracketed>.*?)\](?=[.\[]|$)|\.?(?P<plain>[^.\[]+)", re.DOTALL)


def format_path(parts: Iterable[Part]) -> str:
    """Format keys and indexes as a path."""
    steps = [f".{part}" if isinstance(part, str) and _PLAIN_KEY.fullmatch(part) else f"[{part}]" for part in parts]
    return "".join(steps).removeprefix(".")


def parse_path(path: str) -> tuple[str, ...]:
    """Split a path into the keys and indexes that it goes through, all as text."""
    return tuple(step["plain"] or step["bracketed"] or "" for step in _STEP.finditer(path))
