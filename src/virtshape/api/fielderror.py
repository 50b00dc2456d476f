"""The error of a field. Checks return it, lint reports it, and a Status lists it as a cause."""

from typing import Final, NamedTuple

VALUE_DUPLICATE: Final = "FieldValueDuplicate"
VALUE_INVALID: Final = "FieldValueInvalid"
VALUE_NOT_FOUND: Final = "FieldValueNotFound"
VALUE_REQUIRED: Final = "FieldValueRequired"


class FieldError(NamedTuple):
    """An error in a field, or in several if their paths are joined by commas; no field means the whole object."""

    field: str
    message: str
    reason: str = VALUE_INVALID
    """The reason of the cause in a Status."""
    rule: str = ""
    """The lint rule that reports it, if any."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The paths of all fields."""
        return tuple(self.field.split(", ")) if self.field else ()

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message
