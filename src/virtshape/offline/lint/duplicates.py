"""
Detect objects that are defined more than once.

Identifies objects by a 64-bit hash, which takes a dozen bytes per object, to scale to large inputs.
"""

from array import array
from bisect import bisect_left
from typing import Final

from virtshape.resolve.reference import Reference

_BUCKETS: Final = 1024


class SeenObjects:
    """The objects seen so far; files must be checked one after another."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._buckets = [(array("q"), array("L")) for _ in range(_BUCKETS)]

    def find_earlier_file(self, reference: Reference, file: str) -> str | None:
        """Return the file in which the object was seen before; None if this is the first time."""
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
