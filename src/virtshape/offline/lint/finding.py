"""Findings, the results of lint: field errors with their files and positions."""

from typing import NamedTuple

from msgspec import Struct

from virtshape.api.fielderror import FieldError
from virtshape.offline.lint.rules import RULES, Level


class Subject(Struct, frozen=True, gc=False, order=True):
    """The object that a finding is about; `namespace` is empty for cluster-scoped kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Finding(Struct, frozen=True, gc=False):
    """A violation of a rule at a position; lines and columns count from 1."""

    file: str
    line: int
    column: int
    level: Level
    rule: str
    message: str
    field: str = ""
    object: Subject | None = None

    @property
    def place(self) -> tuple[str, int, int, str, str]:
        """The sort key of findings."""
        return self.file, self.line, self.column, self.rule, self.message


class FileFindings(NamedTuple):
    """A file with its text, which may be missing if there are no findings, and its findings, sorted by position."""

    file: str
    text: bytes
    findings: list[Finding]


def build_finding(error: FieldError, file: str, place: tuple[int, int], subject: Subject | None) -> Finding:
    """Return the finding for an error at this position."""
    line, column = place
    return Finding(file, line, column, RULES[error.rule].level, error.rule, error.message, error.field, subject)
