"""Setting, finding and removing conditions."""

import pytest

from virtshape.api.kubevirt.conditions import drop_condition, find_condition, is_condition_true, put_condition
from virtshape.api.kubevirt.virtualmachine import VirtualMachineCondition as Condition

READY = Condition("Ready", "True", last_transition_time="then")
PAUSED = Condition("Paused", "True", last_transition_time="then")


@pytest.mark.parametrize(
    ("status", "since"),
    [("True", "then"), ("False", "now")],
    ids=["same status keeps its transition time", "changed status gets the current time"],
)
def test_condition_is_replaced_in_place(status: str, since: str) -> None:
    given = [READY, PAUSED]
    put = put_condition(given, Condition("Ready", status, "Why"), "now")
    assert put == [Condition("Ready", status, "Why", last_transition_time=since), PAUSED]
    assert given == [READY, PAUSED]


def test_new_condition_is_appended() -> None:
    assert put_condition([READY], Condition("Paused", "True"), "now") == [
        READY,
        Condition("Paused", "True", last_transition_time="now"),
    ]


def test_conditions_are_found_and_removed_by_type() -> None:
    assert find_condition([READY, PAUSED], "Paused") is PAUSED
    assert find_condition([READY], "Paused") is None
    assert is_condition_true([READY], "Ready")
    assert not is_condition_true(None, "Ready")
    assert drop_condition([READY, PAUSED], "Ready") == [PAUSED]
