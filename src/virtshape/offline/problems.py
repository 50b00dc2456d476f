"""
Problems in files with their positions, and the error that contains them all.

    StatusError
    └── FilesError      all problems of all files
"""

from collections.abc import Iterable
from typing import NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.api.yaml import Document

_ANNOTATIONS = "annotations."


class FileProblem(NamedTuple):
    """A problem and its file; `place` is its line and column, or None if it concerns the whole file."""

    source: str
    place: tuple[int, int] | None
    problem: FieldError

    def __str__(self) -> str:
        where = ":".join(map(str, (self.source, *(self.place or ()))))
        field, message, *_ = self.problem
        return f"{where}: {message if field in message else self.problem}"


class FilesError(StatusError):
    """Files cannot be used; the error contains all their problems."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        causes = [FieldError("", line, each.problem.reason) for each, line in zip(self.problems, lines, strict=True)]
        super().__init__(422, "Invalid", "; ".join(lines), causes)


def locate(document: Document, problem: FieldError) -> FileProblem:
    """Return the problem with the position of its field in the document."""
    return FileProblem(document.source, document.position(problem.field), problem)


def locate_causes(document: Document, error: StatusError) -> list[FileProblem]:
    """Return all causes of an error with their positions in the document."""
    causes = error.causes or (FieldError("", error.message, ""),)
    return [_locate_cause(document, cause) for cause in causes]


def _locate_cause(document: Document, cause: FieldError) -> FileProblem:
    first = cause.field.split(", ")[0]
    if first.startswith(_ANNOTATIONS):  # a conflict names an annotation only by its key
        first = f"spec.template.metadata.annotations[{first.removeprefix(_ANNOTATIONS)}]"
    return FileProblem(document.source, document.position(first), FieldError(cause.field, cause.message))
