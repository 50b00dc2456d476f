"""
Transcripts as text: lines that are typed behind `$ `, with what they show below, and remarks behind `# `.

A line goes on behind a backslash, and until EOF if it says so.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.seeds.transcripts.terminal import Terminal

_REMARK = re.compile(r"^# .*\n+|^\n(?=[$#])", re.MULTILINE)
_STEP = re.compile(r"^\$ ", re.MULTILINE)
_READS = re.compile(r"\bget\b")


class Step(NamedTuple):
    """A line and what it shows."""

    line: str
    shows: str


def read_steps(path: Path) -> list[Step]:
    """All that is typed, in order."""
    return [_read_step(part) for part in _STEP.split(_REMARK.sub("", path.read_text()))[1:]]


def _read_step(part: str) -> Step:
    lines = part.splitlines(keepends=True)
    end = 1
    while lines[end - 1].endswith("\\\n"):
        end += 1
    if re.search(r"<< ?EOF", lines[end - 1]):
        end += lines[end:].index("EOF\n") + 1
    return Step("".join(lines[:end]), "".join(lines[end:]))


def play(terminal: Terminal, path: Path, otherwise: Mapping[str, str] = {}) -> None:
    """Type a transcript; every line shows what is written there, or what is shown in place of that."""
    for line, written in read_steps(path):
        shows = otherwise.get(written, written)
        shown = terminal.wait(line, shows) if _READS.search(line) else terminal.type(line)
        assert shown == shows, f"$ {line}{shown}"
