"""
Errors in an object's text, and the exception that carries them.

    StatusError
    └── DecodeError     400 if the text is not an object of the kind, 422 if only values are invalid or missing
"""

from collections.abc import Iterable
from typing import Literal

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError

DecodeRule = Literal["syntax", "unknown-field", "wrong-type", "missing-field", "invalid-value", "unsupported-value"]

_REASONS: dict[DecodeRule, str] = {
    "syntax": "FieldValueInvalid",
    "unknown-field": "FieldValueForbidden",
    "wrong-type": "FieldValueTypeInvalid",
    "missing-field": "FieldValueRequired",
    "invalid-value": "FieldValueInvalid",
    "unsupported-value": "FieldValueNotSupported",
}
_VALUE_RULES = {"missing-field", "invalid-value", "unsupported-value"}
_SHOWN = 10


def build_problem(field: str, message: str, rule: DecodeRule) -> FieldError:
    """Return the error for a field that cannot be decoded; an empty field means the whole text."""
    return FieldError(field, message, _REASONS[rule], rule)


class DecodeError(StatusError):
    """The text or tree is not a valid object; every problem is a cause."""

    def __init__(self, problems: Iterable[FieldError]) -> None:
        causes = tuple(problems)
        invalid = all(cause.rule in _VALUE_RULES for cause in causes)
        code, reason = (422, "Invalid") if invalid else (400, "BadRequest")
        super().__init__(code, reason, _describe(causes), causes)


def _describe(causes: tuple[FieldError, ...]) -> str:
    text = "; ".join(str(cause) for cause in causes[:_SHOWN])
    more = len(causes) - _SHOWN
    return f"{text}; and {more} more" if more > 0 else text
