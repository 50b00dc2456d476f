"""
What is wrong in files, with the places: every problem as `file:line:column`, and the refusal that carries them all.

    StatusError
    └── FilesError      all that is wrong in all files

Only carries problems, never looks for them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from virtshape.api.problems import Problem, ProblemKind
from virtshape.api.status import Cause, StatusError
from virtshape.api.yaml import Document

_ANNOTATIONS = "annotations."


class FileProblem(NamedTuple):
    """One problem, the file it is in, and the line and column; without those it is the whole file's."""

    source: str
    place: tuple[int, int] | None
    problem: Problem

    def __str__(self) -> str:
        where = ":".join(map(str, (self.source, *(self.place or ()))))
        _, message, _ = self.problem
        return f"{where}: {message if self.problem.field in message else self.problem}"


class FilesError(StatusError):
    """Files that cannot be used as they are."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        causes = [Cause(each.problem.cause.type, line, "") for each, line in zip(self.problems, lines, strict=True)]
        super().__init__(422, "Invalid", "; ".join(lines), causes)


def locate(document: Document, field: str, message: str, kind: ProblemKind = "value") -> FileProblem:
    """Find the place of a field's problem in the document."""
    return FileProblem(document.source, document.position(field), Problem(field, message, kind))


def locate_causes(document: Document, error: StatusError) -> list[FileProblem]:
    """Find the places of all that an object is refused for."""
    causes = error.causes or (Cause("", error.message, ""),)
    return [_locate_cause(document, cause) for cause in causes]


def _locate_cause(document: Document, cause: Cause) -> FileProblem:
    first = cause.field.split(", ")[0]
    if first.startswith(_ANNOTATIONS):  # a clash of annotations is named by their key alone
        first = f"spec.template.metadata.annotations[{first.removeprefix(_ANNOTATIONS)}]"
    return FileProblem(document.source, document.position(first), Problem(cause.field, cause.message, "value"))
