"""
Which objects were seen, and in which file first.

Takes a dozen bytes an object, since there may be very many: objects are told apart by 64 bits of hash.
"""

from array import array
from bisect import bisect_left
from typing import Final

from virtshape.resolve.reference import Reference

_BUCKETS: Final = 1024


class SeenObjects:
    """Objects seen so far; those of a file are to be told before those of the next."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._buckets = [(array("q"), array("L")) for _ in range(_BUCKETS)]

    def find_earlier_file(self, reference: Reference, file: str) -> str | None:
        """The file in which the object was seen before; None if it is seen for the first time now."""
        if not self._files or self._files[-1] != file:
            self._files.append(file)
        key = hash(reference)
        keys, files = self._buckets[key % _BUCKETS]
        at = bisect_left(keys, key)
        if at < len(keys) and keys[at] == key:
            return self._files[files[at]]
        keys.insert(at, key)
        files.insert(at, len(self._files) - 1)
        return None
