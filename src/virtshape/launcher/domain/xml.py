"""Helpers to build libvirt XML."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement

Attributes = Mapping[str, str | int | None]


def add(parent: Element, tag: str, attributes: Attributes | None = None, *, text: str | int | None = None) -> Element:
    """Append and return an element; attributes that are None are omitted."""
    given = {name: str(value) for name, value in (attributes or {}).items() if value is not None}
    element = SubElement(parent, tag, given)
    element.text = None if text is None else str(text)
    return element


def yes_no(value: bool | None) -> str | None:
    """Return "yes", "no" or None for a boolean attribute."""
    return None if value is None else "yes" if value else "no"


def on_off(value: bool | None) -> str | None:
    """Return "on", "off" or None for a boolean attribute."""
    return None if value is None else "on" if value else "off"


def format_numbers(numbers: Iterable[int]) -> str:
    """Return a sorted number list with ranges, for example `0-3,8`."""
    ordered = sorted(set(numbers))
    runs = [[number for _, number in run] for _, run in groupby(enumerate(ordered), lambda pair: pair[1] - pair[0])]
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)
