"""Conflicts: messages, fields and status causes."""

import pytest

from virtshape.api.status import Cause
from virtshape.engine.conflict import (
    VALUE_REQUIRED,
    Conflict,
    causes,
    describe_conflicts,
    instancetype_conflict,
    split_conflicts,
)

CPU = instancetype_conflict("spec.cpu")
MEMORY = instancetype_conflict("spec.memory")
LACK = Conflict(("spec.disk",), "no disk", VALUE_REQUIRED)
NOWHERE = Conflict((), "the network is down")


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
def test_all_violations_are_described_at_once(conflicts: list[Conflict], message: str) -> None:
    assert describe_conflicts(conflicts) == message


def test_instancetype_conflicts_are_split_from_other_violations() -> None:
    assert split_conflicts([LACK, CPU, NOWHERE, MEMORY]) == (
        ["spec.cpu", "spec.memory"],
        ["no disk", "the network is down"],
    )


def test_each_violation_becomes_a_status_cause() -> None:
    several = Conflict(("spec.a", "spec.b"), "too few")
    assert causes([CPU, LACK, several, NOWHERE]) == [
        Cause("FieldValueInvalid", CPU.message, "spec.cpu"),
        Cause("FieldValueRequired", "no disk", "spec.disk"),
        Cause("FieldValueInvalid", "too few", "spec.a, spec.b"),
        Cause("FieldValueInvalid", "the network is down", ""),
    ]
