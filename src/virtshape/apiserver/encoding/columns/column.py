"""
Table columns: the heading, the fields shown and how they are rendered; and columns that many kinds share.

The first path is also the JSONPath in the CustomResourceDefinition, unless the column sets `json_path`.
"""

from collections.abc import Callable
from typing import NamedTuple

from virtshape.apiserver.encoding.age import format_age

Cell = str | int | float | bool | None


class Column(NamedTuple):
    """
    A column.

    A cell is the field's value or the result of `show`, which also receives the current time if `needs_clock` is True.
    """

    name: str
    type: str
    paths: tuple[str, ...]
    description: str
    priority: int = 0
    format: str = ""
    show: Callable[..., Cell] | None = None
    needs_clock: bool = False
    json_path: str = ""

    @property
    def wide(self) -> "Column":
        """The same column, shown only with `-o wide`."""
        return self._replace(priority=1)


def column(name: str, path: str, description: str, type_: str = "string") -> Column:
    """Return a column that shows one field unchanged."""
    return Column(name, type_, (path,), description)


def computed(name: str, description: str, show: Callable[..., Cell], *paths: str, type_: str = "string") -> Column:
    """Return a column that shows a value computed from these fields."""
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
