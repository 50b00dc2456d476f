"""
Errors of the store.

    Exception
    └── StoreError
        ├── StaleError       the object is not at the expected revision
        ├── CompactedError   the revision was compacted
        ├── FutureError      the revision does not exist yet
        ├── LockedError      another process uses the data directory
        └── DatabaseError    the file cannot be used, or is from a newer version
"""


class StoreError(Exception):
    """An operation on the store failed."""


class StaleError(StoreError):
    """The object is not at the expected revision; revision 0 means that the object does not exist."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"expected revision {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


class CompactedError(StoreError):
    """The revision was compacted."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class FutureError(StoreError):
    """The revision does not exist yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"Too large resource version: {asked}, current: {current}")
        self.asked = asked
        self.current = current


class LockedError(StoreError):
    """Another process uses the data directory."""


class DatabaseError(StoreError):
    """The database file cannot be read, written or migrated, or was written by a newer version."""
