"""
A column of the Table that a kind is shown as: its heading, the fields it shows, and how.

The first path is also what a CustomResourceDefinition says of the column.
"""

from collections.abc import Callable
from typing import NamedTuple

Cell = str | int | float | bool | None


class Column(NamedTuple):
    """One column; without `show` a cell is the value itself, with `needs_clock` `show` gets the time as well."""

    name: str
    type: str
    paths: tuple[str, ...]
    description: str
    priority: int = 0
    format: str = ""
    show: Callable[..., Cell] | None = None
    needs_clock: bool = False

    @property
    def wide(self) -> "Column":
        """The same, shown only to those who ask for more."""
        return self._replace(priority=1)


def column(name: str, path: str, description: str, type_: str = "string") -> Column:
    """A column that shows one field as it is."""
    return Column(name, type_, (path,), description)


def computed(name: str, description: str, show: Callable[..., Cell], *paths: str, type_: str = "string") -> Column:
    """A column that shows what `show` makes of some fields."""
    return Column(name, type_, paths, description, show=show)
