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
    """A problem with its file, line and column; `place` is None if it concerns the whole file."""

    source: str
    place: tuple[int, int] | None
    problem: FieldError

    def __str__(self) -> str:
        where = ":".join(map(str, (self.source, *(self.place or ()))))
        field, message, *_ = self.problem
        return f"{where}: {message if field in message else self.problem}"


class FilesError(StatusError):
    """An error with all problems of files that cannot be used."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems]
        causes = [FieldError("", line, each.problem.reason) for each, line in zip(self.problems, lines, strict=True)]
        super().__init__(422, "Invalid", "; ".join(lines), causes)


def locate(document: Document, problem: FieldError) -> FileProblem:
    """Return the problem of a field with its position in the document."""
    return FileProblem(document.source, document.position(problem.field), problem)


def locate_causes(document: Document, error: StatusError) -> list[FileProblem]:
    """Return all causes of an error with their positions."""
    causes = error.causes or (FieldError("", error.message, ""),)
    return [_locate_cause(document, cause) for cause in causes]


def _locate_cause(document: Document, cause: FieldError) -> FileProblem:
    first = cause.field.split(", ")[0]
    if first.startswith(_ANNOTATIONS):  # annotation conflicts are named only by their key
        first = f"spec.template.metadata.annotations[{first.removeprefix(_ANNOTATIONS)}]"
    return FileProblem(document.source, document.position(first), FieldError(cause.field, cause.message))
