"""Objects that were just written or read, by key, up to so many bytes: most reads are of few objects."""

from collections import OrderedDict
from typing import Final

from virtshape.store.record import Key, Record

MOST_BYTES: Final = 16 * 1024 * 1024


class Cache:
    """The records used last."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._records: OrderedDict[Key, Record] = OrderedDict()
        self._most = most_bytes
        self._bytes = 0

    def get(self, key: Key) -> Record | None:
        """A record, if it is at hand."""
        record = self._records.get(key)
        if record is not None:
            self._records.move_to_end(key)
        return record

    def put(self, record: Record) -> None:
        """Keep a record at hand, in place of those not used for longest."""
        self.drop(record.key)
        self._records[record.key] = record
        self._bytes += len(record.value)
        while self._bytes > self._most:
            _, oldest = self._records.popitem(last=False)
            self._bytes -= len(oldest.value)

    def drop(self, key: Key) -> None:
        """Keep a record no longer."""
        record = self._records.pop(key, None)
        if record is not None:
            self._bytes -= len(record.value)
