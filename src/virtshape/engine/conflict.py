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
    """One violation: the fields of the VM it stands in, if any, the words, and what Kubernetes calls it."""

    fields: tuple[str, ...]
    message: str
    type: str = VALUE_INVALID

    @property
    def cause(self) -> Cause:
        """The violation as a cause of a refusal."""
        return Cause(self.type, self.message, ", ".join(self.fields))


def instancetype_conflict(*fields: str) -> Conflict:
    """The VM sets what its instance type sets too."""
    return Conflict(fields, f"VM field(s) {', '.join(fields)} conflicts with selected instance type")


def describe_conflicts(conflicts: Sequence[Conflict]) -> str:
    """All violations in one text; those against the instance type share one sentence."""
    clashing, others = split_conflicts(conflicts)
    return "; ".join([instancetype_conflict(*clashing).message, *others] if clashing else others)


def split_conflicts(conflicts: Sequence[Conflict]) -> tuple[list[str], list[str]]:
    """The fields that clash with the instance type, and the words of all other violations."""
    clashing = [c for c in conflicts if c.message == instancetype_conflict(*c.fields).message]
    return [field for c in clashing for field in c.fields], [c.message for c in conflicts if c not in clashing]


def causes(conflicts: Iterable[Conflict]) -> list[Cause]:
    """The violations as causes of a refusal."""
    return [conflict.cause for conflict in conflicts]
