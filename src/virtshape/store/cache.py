"""A cache of recently used objects, limited in bytes."""

from collections import OrderedDict
from typing import Final

from virtshape.store.record import Key, Record

MAX_BYTES: Final = 16 * 1024 * 1024


class Cache:
    """The most recently used records."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._records: OrderedDict[Key, Record] = OrderedDict()
        self._most = most_bytes
        self._bytes = 0

    def get(self, key: Key) -> Record | None:
        """Return the record, or None if it is not cached."""
        record = self._records.get(key)
        if record is not None:
            self._records.move_to_end(key)
        return record

    def put(self, record: Record) -> None:
        """Cache a record, and evict the least recently used records if the cache is full."""
        self.drop(record.key)
        self._records[record.key] = record
        self._bytes += len(record.value)
        while self._bytes > self._most:
            _, oldest = self._records.popitem(last=False)
            self._bytes -= len(oldest.value)

    def drop(self, key: Key) -> None:
        """Remove the record with this key, if it is cached."""
        record = self._records.pop(key, None)
        if record is not None:
            self._bytes -= len(record.value)
