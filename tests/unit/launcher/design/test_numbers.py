"""Lists of CPUs in cpuset syntax."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtshape.launcher.design.numbers import parse_numbers
from virtshape.launcher.domain.xml import format_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0", (0,)),
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("0-3,^1", (0, 2, 3)),
        (" 4 , 2 ", (2, 4)),
        ("^1", ()),
        ("", None),
        ("3-1", None),
        ("a", None),
        ("1,,2", None),
        ("-1", None),
        ("1234567890", None),
    ],
)
def test_lists_are_parsed(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_numbers(text) == numbers


@given(st.sets(st.integers(0, 300), min_size=1))
def test_formatted_list_parses_to_the_same_numbers(numbers: set[int]) -> None:
    assert parse_numbers(format_numbers(numbers)) == tuple(sorted(numbers))
