"""A verdict changes after enough consecutive results against it."""

import pytest

from virtshape.launcher.check import Check, Tally

CASES = {
    "well at the first success": (Check(way="ping"), False, "+", "+"),
    "well after two": (Check(way="ping", successes=2), False, "+-++", "---+"),
    "not well after three failures": (Check(way="ping"), True, "---", "++-"),
    "a success in between forgives": (Check(way="ping", failures=2), True, "-+--+", "+++-+"),
}


@pytest.mark.parametrize(("check", "well", "answers", "verdicts"), CASES.values(), ids=CASES)
def test_consecutive_results_are_counted(check: Check, well: bool, answers: str, verdicts: str) -> None:
    tally, seen = Tally(check, well=well), ""
    for answer in answers:
        tally.count(well=answer == "+")
        seen += "+" if tally.well else "-"
    assert seen == verdicts
