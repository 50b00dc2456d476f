"""
What the store speaks of: keys, the objects at them, and the changes it tells of.

Values are bytes; what is in them is nobody's business here.
"""

from typing import Any, Literal

from msgspec import Struct

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(Struct, frozen=True, order=True):
    """Where an object stands; `namespace` is empty for cluster-wide resources."""

    resource: str
    namespace: str
    name: str


class Record(Struct, frozen=True):
    """An object as it stands: its key, the revision that wrote it, its bytes."""

    key: Key
    revision: int
    value: bytes


class Event(Struct):
    """One change; `previous` is the revision it replaced, or 0; `notes` is for readers to share work in."""

    type: EventType
    key: Key
    revision: int
    value: bytes
    previous: int
    notes: dict[Any, Any] = {}


class Page(Struct, frozen=True):
    """Some records in order of their keys, as of one revision, and how many follow them."""

    records: list[Record]
    revision: int
    remaining: int
