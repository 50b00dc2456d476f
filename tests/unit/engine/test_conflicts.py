"""Conflicts: messages, fields and status causes."""

import pytest

from virtshape.api.fielderror import VALUE_REQUIRED, FieldError
from virtshape.api.status import StatusCause, StatusError
from virtshape.engine.conflicts import describe_conflicts, instancetype_conflict, split_conflicts

CPU = instancetype_conflict("spec.cpu")
MEMORY = instancetype_conflict("spec.memory")
LACK = FieldError("spec.disk", "no disk", VALUE_REQUIRED)
NOWHERE = FieldError("", "the network is down")


def test_instancetype_conflict_names_its_field() -> None:
    assert CPU.message == "VM field(s) spec.cpu conflicts with selected instance type"


@pytest.mark.parametrize(
    ("conflicts", "message"),
    [
        ([], ""),
        ([CPU], "VM field(s) spec.cpu conflicts with selected instance type"),
        ([CPU, MEMORY], "VM field(s) spec.cpu, spec.memory conflicts with selected instance type"),
        ([LACK], "no disk"),
        ([LACK, CPU, NOWHERE], f"{CPU.message}; no disk; the network is down"),
    ],
    ids=["none", "one conflict", "conflicts share a sentence", "other violation", "conflicts first"],
)
def test_conflict_message_describes_all_violations(conflicts: list[FieldError], message: str) -> None:
    assert describe_conflicts(conflicts) == message


def test_instancetype_conflicts_are_separated_from_other_violations() -> None:
    assert split_conflicts([LACK, CPU, NOWHERE, MEMORY]) == (
        ["spec.cpu", "spec.memory"],
        ["no disk", "the network is down"],
    )


def test_each_violation_becomes_a_status_cause() -> None:
    several = FieldError("spec.a, spec.b", "too few", rule="one-of")
    error = StatusError(422, "Invalid", "no good", [CPU, LACK, several, NOWHERE])
    assert error.status.details is not None
    assert error.status.details.causes == [
        StatusCause(reason="FieldValueInvalid", message=CPU.message, field="spec.cpu"),
        StatusCause(reason="FieldValueRequired", message="no disk", field="spec.disk"),
        StatusCause(reason="FieldValueInvalid", message="too few", field="spec.a, spec.b"),
        StatusCause(reason="FieldValueInvalid", message="the network is down"),
    ]


def test_conflict_error_names_all_its_fields() -> None:
    assert instancetype_conflict("spec.a", "spec.b").fields == ("spec.a", "spec.b")
    assert NOWHERE.fields == ()
