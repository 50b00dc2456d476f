"""Helpers for libvirt XML."""

from xml.etree.ElementTree import Element, tostring

import pytest

from virtshape.launcher.domain.xml import add, format_numbers, on_off, yes_no


def test_attributes_with_the_value_none_are_omitted() -> None:
    parent = Element("a")
    add(parent, "b", {"c": 0, "d": None}, text=1)
    add(parent, "e")
    assert tostring(parent, encoding="unicode") == '<a><b c="0">1</b><e /></a>'


@pytest.mark.parametrize(("value", "spellings"), [(True, ("yes", "on")), (False, ("no", "off")), (None, (None, None))])
def test_booleans_are_rendered_as_yes_and_no_or_on_and_off(
    value: bool | None, spellings: tuple[str | None, str | None]
) -> None:
    assert (yes_no(value), on_off(value)) == spellings


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((3,), "3"), ((2, 1, 0), "0-2"), ((0, 1, 3, 5, 6), "0-1,3,5-6")]
)
def test_consecutive_cpu_numbers_are_rendered_as_ranges(numbers: tuple[int, ...], text: str) -> None:
    assert format_numbers(numbers) == text
