"""Conflicts: why a VM is rejected, with fields and message. Checks return them and never raise."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from virtshape.api.status import Cause

VALUE_INVALID = "FieldValueInvalid"
VALUE_NOT_FOUND = "FieldValueNotFound"
VALUE_REQUIRED = "FieldValueRequired"


class Conflict(NamedTuple):
    """One violation: the VM fields it concerns (if any), a message, and Kubernetes' cause type."""

    fields: tuple[str, ...]
    message: str
    type: str = VALUE_INVALID

    @property
    def cause(self) -> Cause:
        """The violation as a Status cause."""
        return Cause(self.type, self.message, ", ".join(self.fields))


def instancetype_conflict(*fields: str) -> Conflict:
    """Return the conflict for fields that both the VM and its instance type set."""
    return Conflict(fields, f"VM field(s) {', '.join(fields)} conflicts with selected instance type")


def describe_conflicts(conflicts: Sequence[Conflict]) -> str:
    """Join all messages; conflicts with the instance type share one sentence."""
    clashing, others = split_conflicts(conflicts)
    return "; ".join([instancetype_conflict(*clashing).message, *others] if clashing else others)


def split_conflicts(conflicts: Sequence[Conflict]) -> tuple[list[str], list[str]]:
    """Return the fields that conflict with the instance type, and the messages of all other violations."""
    clashing = [c for c in conflicts if c.message == instancetype_conflict(*c.fields).message]
    return [field for c in clashing for field in c.fields], [c.message for c in conflicts if c not in clashing]


def causes(conflicts: Iterable[Conflict]) -> list[Cause]:
    """Return the violations as Status causes."""
    return [conflict.cause for conflict in conflicts]
