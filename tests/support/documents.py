"""Console sessions in the documentation: commands and their printed output."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_OF_A_SERVER = re.compile(
    r"virtshape (?:doctor|status|user|image|import|backup|check|down)\b|qemu-img\b"
    r"|virtctl (?:start|stop|restart|addvolume|removevolume|version|console|image-upload|migrate-type|fit)\b"
    r"|virtctl (?:expand|diff) --(?:vm|revision)\b"
    r"|.*\bkubectl\b"
)
_UP = re.compile(r"^\$ virtshape up\b(.*)$", re.MULTILINE)


class Session(NamedTuple):
    """One command and its output."""

    line: str
    output: str

    @property
    def needs_server(self) -> bool:
        return _OF_A_SERVER.match(self.line) is not None


def list_documents() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_flags(document: Path) -> list[str]:
    """Return the flags of `virtshape up` in a document."""
    found = _UP.search(document.read_text())
    return found[1].split() if found else []


def read_sessions(document: Path) -> list[Session]:
    """Return all commands of a document in order."""
    blocks = _BLOCK.findall(document.read_text())
    texts = [text for block in blocks for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [Session(line, output) for line, _, output in (text.partition("\n") for text in texts)]
