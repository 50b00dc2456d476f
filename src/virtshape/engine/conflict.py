"""
Why a VM is refused, as data: the fields and the words. Each fact has one wording, here.

Pure: returned by checks, never raised.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from virtshape.api.status import Cause

VALUE_INVALID = "FieldValueInvalid"
VALUE_NOT_FOUND = "FieldValueNotFound"
VALUE_REQUIRED = "FieldValueRequired"


class Conflict(NamedTuple):
    """One violation: the fields it stands in, the words, and what Kubernetes calls it."""

    fields: tuple[str, ...]
    message: str
    type: str = VALUE_INVALID

    @property
    def cause(self) -> Cause:
        """The violation as a cause of a refusal."""
        return Cause(self.type, self.message, ", ".join(self.fields))


def instancetype_conflict(field: str) -> Conflict:
    """The VM sets what its instance type sets too."""
    return Conflict((field,), f"VM field(s) {field} conflicts with selected instance type")


def describe_conflicts(conflicts: Sequence[Conflict]) -> str:
    """All violations in one text; those against the instance type share one sentence."""
    clashing = [c.fields[0] for c in conflicts if c == instancetype_conflict(c.fields[0])]
    sentences = [f"VM field(s) {', '.join(clashing)} conflicts with selected instance type"] if clashing else []
    sentences += [c.message for c in conflicts if c.fields[0] not in clashing]
    return "; ".join(sentences)


def causes(conflicts: Iterable[Conflict]) -> list[Cause]:
    """The violations as causes of a refusal."""
    return [conflict.cause for conflict in conflicts]
