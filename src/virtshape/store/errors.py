"""
What can go wrong in the store.

    Exception
    └── StoreError
        ├── StaleError       the object is not at the revision that a write expected
        ├── CompactedError   history that old is gone
        ├── FutureError      that revision is still to come
        ├── LockedError      another process has this data directory
        └── DatabaseError    the file is newer than this program, or broken
"""


class StoreError(Exception):
    """Something that the store cannot do."""


class StaleError(StoreError):
    """The object is not at the revision that a write expected; 0 means that there is none."""

    def __init__(self, expected: int, actual: int) -> None:
        super().__init__(f"expected revision {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


class CompactedError(StoreError):
    """History that old is gone."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class FutureError(StoreError):
    """That revision is still to come."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"Too large resource version: {asked}, current: {current}")
        self.asked = asked
        self.current = current


class LockedError(StoreError):
    """Another process has this data directory."""


class DatabaseError(StoreError):
    """The file is newer than this program, or broken."""
