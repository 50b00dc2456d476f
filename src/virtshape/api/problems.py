"""
Problems of an object's text, with path and message, and the error that carries them.

    StatusError
    └── DecodeError     400 if the text is not an object of the kind, 422 if only values are invalid or missing
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError

ProblemKind = Literal["syntax", "unknown", "duplicate", "type", "missing", "value", "unsupported"]

_REASONS: dict[ProblemKind, str] = {
    "syntax": "FieldValueInvalid",
    "unknown": "FieldValueForbidden",
    "duplicate": "FieldValueDuplicate",
    "type": "FieldValueTypeInvalid",
    "missing": "FieldValueRequired",
    "value": "FieldValueInvalid",
    "unsupported": "FieldValueNotSupported",
}
_VALID_SHAPE = {"missing", "value", "unsupported"}
_SHOWN = 10


class Problem(NamedTuple):
    """A problem: the path of the field (empty for the whole text), the message and the kind of problem."""

    field: str
    message: str
    kind: ProblemKind

    @property
    def cause(self) -> FieldError:
        """The problem as a cause of a Status."""
        return FieldError(self.field, self.message, _REASONS[self.kind])

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class DecodeError(StatusError):
    """Text or a tree that is not a valid object, with all problems."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        invalid = all(problem.kind in _VALID_SHAPE for problem in self.problems)
        code, reason = (422, "Invalid") if invalid else (400, "BadRequest")
        super().__init__(code, reason, _describe(self.problems), [problem.cause for problem in self.problems])


def _describe(problems: tuple[Problem, ...]) -> str:
    text = "; ".join(str(problem) for problem in problems[:_SHOWN])
    more = len(problems) - _SHOWN
    return f"{text}; and {more} more" if more > 0 else text
