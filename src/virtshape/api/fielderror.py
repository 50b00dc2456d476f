"""Errors in fields: checks return them, lint reports them, and a Status lists them as causes."""

from typing import Final, NamedTuple

VALUE_DUPLICATE: Final = "FieldValueDuplicate"
VALUE_INVALID: Final = "FieldValueInvalid"
VALUE_NOT_FOUND: Final = "FieldValueNotFound"
VALUE_REQUIRED: Final = "FieldValueRequired"


class FieldError(NamedTuple):
    """An error in one or more fields: `field` is their paths, joined by commas, or empty for the whole object."""

    field: str
    message: str
    reason: str = VALUE_INVALID
    """The reason in the Status cause for this error."""
    rule: str = ""
    """The lint rule that this error violates; empty if no lint rule applies."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths of all fields that have the error."""
        return tuple(self.field.split(", ")) if self.field else ()

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message
