"""A field that this host substitutes: the field, and what the guest gets instead."""

from msgspec import Struct


class Note(Struct, frozen=True):
    """A field of an instance that is implemented differently on this host."""

    field: str
    """Field path, for example `spec.domain.devices.interfaces[0]`."""
    text: str
    """Message, shown after the field path and a colon."""
