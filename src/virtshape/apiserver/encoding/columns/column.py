"""
A Table column: its heading, the fields it shows, and how to render them; and the columns that all kinds have.

The first path is also the JSONPath in the CustomResourceDefinition.
"""

from collections.abc import Callable
from typing import NamedTuple

from virtshape.apiserver.encoding.age import format_age

Cell = str | int | float | bool | None


class Column(NamedTuple):
    """One column; without `show` a cell is the value itself; with `needs_clock`, `show` also gets the time."""

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
        """The same column, shown only with `-o wide`."""
        return self._replace(priority=1)


def column(name: str, path: str, description: str, type_: str = "string") -> Column:
    """A column that shows one field unchanged."""
    return Column(name, type_, (path,), description)


def computed(name: str, description: str, show: Callable[..., Cell], *paths: str, type_: str = "string") -> Column:
    """A column that shows a value computed from some fields."""
    return Column(name, type_, paths, description, show=show)


_CREATED = (".metadata.creationTimestamp",)
NAME = Column("Name", "string", (".metadata.name",), "Name of the object.", format="name")
CUSTOM_AGE = Column("Age", "date", _CREATED, "Time since the object was created.", show=format_age, needs_clock=True)
AGE = CUSTOM_AGE._replace(type="string")
CREATED_AT = Column("Created At", "date", _CREATED, "When the object was created.")
CUSTOM = (NAME, CUSTOM_AGE)
"""The default columns of a custom resource."""
BUILT_IN = (NAME, AGE)
"""The default columns of a built-in kind."""
