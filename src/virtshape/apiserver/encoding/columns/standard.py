"""Columns that many kinds share: name and age, for custom resources and for built-in kinds."""

from virtshape.apiserver.encoding.age import format_age
from virtshape.apiserver.encoding.columns.column import Column

_CREATED = (".metadata.creationTimestamp",)

NAME = Column("Name", "string", (".metadata.name",), "Name of the object.", format="name")
CUSTOM_AGE = Column("Age", "date", _CREATED, "Time since the object was created.", show=format_age, needs_clock=True)
AGE = CUSTOM_AGE._replace(type="string")
CREATED_AT = Column("Created At", "date", _CREATED, "When the object was created.")

CUSTOM = (NAME, CUSTOM_AGE)
"""The default columns of a custom resource."""
BUILT_IN = (NAME, AGE)
"""The default columns of a built-in kind."""
