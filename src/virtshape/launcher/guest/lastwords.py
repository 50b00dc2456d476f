"""
What QEMU printed last, for the report of its end or of a start that failed.

Only reads; a log that is not there says nothing.
"""

import re
from pathlib import Path
from typing import Final

_TAIL: Final = 8192
_STAMP: Final = re.compile(r"^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+0000):? ?")
_STAMPS: Final = re.compile(_STAMP.pattern.removeprefix("^"))
_EXITED: Final = re.compile(r"^internal error: (process exited while connecting to monitor|[^:]*closed the monitor): ")
_ARGUMENT: Final = re.compile(r"^qemu-system-\w+: (-\w+ (\{.*?\}+|\S+): )?")
_FAREWELL: Final = re.compile(r"^shutting down|: terminating on signal")


def find_last_words(log: Path) -> str:
    """The last line that QEMU itself has to say; empty if there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - _TAIL))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    for line in reversed(text.splitlines()):
        words = _STAMP.sub("", line).strip()
        if _is_beginning(words):
            return ""
        if words and not _FAREWELL.search(words):
            return words
    return ""


def explain(error: str) -> str:
    """Libvirt's words about a start that failed; where they are QEMU's, without the argument that it read."""
    if _EXITED.match(error) is None:
        return error.strip()
    lines = _STAMPS.sub("", _EXITED.sub("", error)).splitlines()
    words = [_ARGUMENT.sub("", line).strip() for line in lines]
    return f"QEMU did not start: {'; '.join(filter(None, words))}"


def _is_beginning(words: str) -> bool:
    """Whether the line tells how QEMU was started, which libvirt writes before QEMU has a word."""
    return words.startswith(("starting up", "-")) or words.endswith("\\")
