"""
What lint finds: one rule broken at one place.

Only data. A issue is what a check says; a finding also knows the file and the place in it.
"""

from typing import NamedTuple

from msgspec import Struct

from virtshape.offline.lint.rules import RULES, Level


class Issue(NamedTuple):
    """What a check has to say: the rule, the path of the field, the words."""

    rule: str
    field: str
    message: str


class Subject(Struct, frozen=True, gc=False, order=True):
    """The object that a finding is about; `namespace` is empty for cluster-wide kinds."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Finding(Struct, frozen=True, gc=False):
    """One rule broken at one place: lines and columns count from 1."""

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
        """By what findings are sorted."""
        return self.file, self.line, self.column, self.rule, self.message


def build_finding(issue: Issue, file: str, place: tuple[int, int], subject: Subject | None) -> Finding:
    """Turn a issue into a finding at this place."""
    line, column = place
    return Finding(file, line, column, RULES[issue.rule].level, issue.rule, issue.message, issue.field, subject)
