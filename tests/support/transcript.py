"""
Parse transcripts: commands after `$ `, followed by their output, and comments after `# `.

A command continues after a backslash, and a here-document until EOF.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.transcriptterminal import Terminal

_REMARK = re.compile(r"^# .*\n+|^\n(?=[$#])", re.MULTILINE)
_STEP = re.compile(r"^\$ ", re.MULTILINE)
_READS = re.compile(r"\bget\b")


class Step(NamedTuple):
    """A command and its output."""

    line: str
    shows: str


def read_steps(path: Path) -> list[Step]:
    """Return all commands in order."""
    return [_read_step(part) for part in _STEP.split(_REMARK.sub("", path.read_text()))[1:]]


def _read_step(part: str) -> Step:
    lines = part.splitlines(keepends=True)
    end = 1
    while lines[end - 1].endswith("\\\n"):
        end += 1
    if re.search(r"<< ?EOF", lines[end - 1]):
        end += lines[end:].index("EOF\n") + 1
    return Step("".join(lines[:end]), "".join(lines[end:]))


def run_transcript(terminal: Terminal, path: Path, otherwise: Mapping[str, str] = {}) -> None:
    """Run a transcript; every command must print the documented output or its listed replacement."""
    for line, written in read_steps(path):
        shows = otherwise.get(written, written)
        shown = terminal.wait(line, shows) if _READS.search(line) else terminal.type(line)
        assert shown == shows, f"$ {line}{shown}"
