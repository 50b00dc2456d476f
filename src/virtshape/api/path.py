"""
Field paths as in Kubernetes: `spec.disks[0].name`, `metadata.annotations[example.com/os]`.

A key that consists of letters, digits, `_` and `-` follows a dot. Any other key is in brackets.
A path alone does not show whether `[0]` is an item or a key.
"""

import re
from collections.abc import Iterable

Part = str | int

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CLOSING = re.compile(r"\](?=[.\[]|$)")
_KEY = re.compile(r"\.?([^.\[]+)")


def format_path(parts: Iterable[Part]) -> str:
    """Return the path with these keys and indexes."""
    steps = [f".{part}" if isinstance(part, str) and _PLAIN_KEY.fullmatch(part) else f"[{part}]" for part in parts]
    return "".join(steps).removeprefix(".")


def parse_path(path: str) -> tuple[str, ...]:
    """Split a path into keys and indexes, all as strings."""
    steps, at, is_closed = [], 0, True
    while at < len(path):
        if is_closed and path[at] == "[":
            closing = _CLOSING.search(path, at + 1)
            if closing is not None:
                steps.append(path[at + 1 : closing.start()])
                at = closing.end()
                continue
            is_closed = False  # later brackets are not closed either: searching for each would take quadratic time
        key = _KEY.match(path, at)
        if key is not None:
            steps.append(key[1])
        at = key.end() if key is not None else at + 1
    return tuple(steps)
