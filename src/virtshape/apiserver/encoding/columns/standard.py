"""Columns that many kinds have: the name and the age, as custom resources and as built-in kinds show them."""

from virtshape.apiserver.encoding.age import format_age
from virtshape.apiserver.encoding.columns.column import Column

_CREATED = (".metadata.creationTimestamp",)

NAME = Column("Name", "string", (".metadata.name",), "Name of the object.", format="name")
CUSTOM_AGE = Column("Age", "date", _CREATED, "Time since the object was made.", show=format_age, needs_clock=True)
AGE = CUSTOM_AGE._replace(type="string")
CREATED_AT = Column("Created At", "date", _CREATED, "When the object was made.")

CUSTOM = (NAME, CUSTOM_AGE)
"""What a custom resource shows if nobody says otherwise."""
BUILT_IN = (NAME, AGE)
"""What a built-in kind shows if nobody says otherwise."""
