"""
Keys, records and events of the store. Values are opaque bytes.

Keys and records cannot be part of reference cycles, so Python's garbage collector does not visit them: there are many.
"""

from typing import Any, Literal

from msgspec import Struct

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(Struct, frozen=True, order=True, gc=False):
    """Identifies an object; `namespace` is empty for cluster-scoped resources."""

    resource: str
    namespace: str
    name: str


class Record(Struct, frozen=True, gc=False):
    """A stored object: its key, the revision that wrote it, and its bytes."""

    key: Key
    revision: int
    value: bytes


class Event(Struct):
    """
    One change.

    `previous` is the replaced revision, or 0. `notes` caches values that readers compute from the change.
    """

    type: EventType
    key: Key
    revision: int
    value: bytes
    previous: int
    notes: dict[Any, Any] = {}


class Page(Struct, frozen=True):
    """A page of records in key order, at one revision, and the number of records that follow the page."""

    records: list[Record]
    revision: int
    remaining: int
