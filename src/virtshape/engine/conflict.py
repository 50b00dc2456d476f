"""Conflicts between a VM and its instance type, and the message that lists all conflicts of a VM."""

from collections.abc import Sequence

from virtshape.api.fielderror import FieldError


def instancetype_conflict(*fields: str) -> FieldError:
    """Return the conflict for fields that both the VM and its instance type set."""
    paths = ", ".join(fields)
    return FieldError(paths, f"VM field(s) {paths} conflicts with selected instance type", rule="instancetype-conflict")


def describe_conflicts(conflicts: Sequence[FieldError]) -> str:
    """Return all messages as one; conflicts with the instance type share one sentence."""
    clashing, others = split_conflicts(conflicts)
    return "; ".join([instancetype_conflict(*clashing).message, *others] if clashing else others)


def split_conflicts(conflicts: Sequence[FieldError]) -> tuple[list[str], list[str]]:
    """Return the fields that conflict with the instance type, and the messages of all other conflicts."""
    clashing = [c for c in conflicts if c.message == instancetype_conflict(*c.fields).message]
    return [field for c in clashing for field in c.fields], [c.message for c in conflicts if c not in clashing]
