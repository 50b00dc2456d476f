"""
What stands in for something a host does not have: the field that asks for it, and what its guest gets instead.

Plain facts, for the instance's status; nothing is refused here.
"""

from msgspec import Struct


class Note(Struct, frozen=True):
    """One field of an instance that is honoured in another way than elsewhere."""

    field: str
    """Path from the instance's root, as in `spec.domain.devices.interfaces[0]`."""
    text: str
    """Plain words that can follow the field's path and a colon."""
