"""
Base class and scalar types of the API structs, and the type of a decoded JSON object.

An optional field is `T | None = None`: absent and `null` are the same, and neither is encoded.
The docstring under a field is its description; the module `description` reads it from the source.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct


class Model(Struct, rename="camel", omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """
    Base class of API structs: fields are snake_case in Python and camelCase in JSON, and unknown fields are rejected.

    Structs contain no reference cycles, so the garbage collector does not track them.
    """


class Settings(Model, forbid_unknown_fields=False):
    """Base class of settings in the KubeVirt object, in which unknown fields are stored but have no effect."""


JsonObject = dict[str, Any]

UInt32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Duration = str
IntOrString = int | str
