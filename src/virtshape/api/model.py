"""
What every API struct is built on: the base class and the scalar types of the wire.

An optional field is `T | None = None`: absent and `null` are the same, and neither is written out.
The text under a field is its description; `schema` reads it from the source.
"""

from typing import Annotated

from msgspec import Meta, Struct


class Model(Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """
    A struct of the API: snake_case here, camelCase on the wire, unknown fields refused.

    Objects of the API are trees, so the garbage collector need not look for cycles in them.
    """


class Settings(Model, forbid_unknown_fields=False):
    """Settings of an administrator: what we do not know in them is kept by whoever stores them, and has no effect."""


UInt32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Duration = str
IntOrString = int | str
