"""A field that this host cannot support, and why. All refusals of an instance are reported at once."""

from msgspec import Struct


class Refusal(Struct, frozen=True):
    """A field of an instance that this host cannot support."""

    field: str
    """Field path, for example `spec.domain.cpu.model`."""
    reason: str
    """Message, shown after the field path and a colon."""
