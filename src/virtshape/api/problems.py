"""
What is wrong with an object's text: every problem with its path and in words, and the refusal that carries them all.

    StatusError
    └── DecodeError     400 when the text is no object of that kind, 422 when only values are wrong or missing

Only carries problems, never looks for them.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from virtshape.api.status import Cause, StatusError

ProblemKind = Literal["syntax", "unknown", "duplicate", "type", "missing", "value", "unsupported"]

_CAUSE_TYPES: dict[ProblemKind, str] = {
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
    """One thing that does not fit: the field's path (empty for the whole text), the words, and what kind of problem."""

    field: str
    message: str
    kind: ProblemKind

    @property
    def cause(self) -> Cause:
        """The problem as a cause of a refusal."""
        return Cause(_CAUSE_TYPES[self.kind], self.message, self.field)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class DecodeError(StatusError):
    """A text or tree that is not the object it should be, with all that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        invalid = all(problem.kind in _VALID_SHAPE for problem in self.problems)
        code, reason = (422, "Invalid") if invalid else (400, "BadRequest")
        super().__init__(code, reason, _describe(self.problems), [problem.cause for problem in self.problems])


def _describe(problems: tuple[Problem, ...]) -> str:
    text = "; ".join(str(problem) for problem in problems[:_SHOWN])
    more = len(problems) - _SHOWN
    return f"{text}; and {more} more" if more > 0 else text
