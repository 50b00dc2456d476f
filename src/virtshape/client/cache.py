"""
Cache of objects of one kind, by namespace and name and by custom indexes.

Each update returns its changes. Objects are stored encoded, which needs a tenth of the memory, and decoded on access,
so that each caller gets its own copy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from sys import intern
from typing import Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from virtshape.api.codec import decode, encode
from virtshape.api.model import Model
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)
R = TypeVar("R")

Indexer = Callable[[T], Iterable[str]]
"""A function that returns the index values of an object."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Change(Struct, Generic[T], frozen=True):
    """A change to an object, or a periodic report of an unchanged object (RESYNCED); `item` is the last known state."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "RESYNCED"]
    item: T


class _Entry(Struct, frozen=True, gc=False):
    """An encoded object and its index values."""

    uid: str
    revision: str
    text: bytes
    values: tuple[tuple[str, ...], ...]


class Derived(NamedTuple, Generic[R]):
    """A value computed from one version of an object."""

    uid: str
    revision: str
    value: R


class Snapshot(Generic[T]):
    """The objects of a cache at one point in time; other threads may read the snapshot while the cache changes."""

    def __init__(self, kind: type[T], entries: Mapping[ObjectKey, _Entry]) -> None:
        self._kind = kind
        self._entries = entries

    def derive(
        self, compute: Callable[[T], R], known: Mapping[ObjectKey, Derived[R]]
    ) -> Mapping[ObjectKey, Derived[R]]:
        """Return a value for each object; reuse the values in `known` for objects that have not changed."""
        derived: dict[ObjectKey, Derived[R]] = {}
        for place, entry in self._entries.items():
            found = known.get(place)
            if found is None or found.revision != entry.revision or found.uid != entry.uid:
                found = Derived(entry.uid, entry.revision, compute(decode(entry.text, self._kind)))
            derived[place] = found
        return derived


class Cache(Generic[T]):
    """Objects of one kind."""

    def __init__(self, kind: type[T], indexes: Mapping[str, Indexer[T]] | None = None) -> None:
        self._kind = kind
        self._indexers = dict(indexes or {})
        self._entries: dict[ObjectKey, _Entry] = {}
        self._by_namespace: dict[str, dict[ObjectKey, None]] = {}
        self._by_index: dict[str, dict[str, dict[ObjectKey, None]]] = {name: {} for name in self._indexers}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return map(self._read, list(self._entries.values()))

    def take_snapshot(self) -> Snapshot[T]:
        """Return a snapshot of all objects."""
        return Snapshot(self._kind, dict(self._entries))

    def find(self, name: str, namespace: str = "") -> T | None:
        """Return the object with this name and namespace, or None."""
        entry = self._entries.get(ObjectKey(namespace, name))
        return self._read(entry) if entry is not None else None

    def list(self, namespace: str = "") -> Sequence[T]:
        """Return all objects in a namespace; an empty namespace means all namespaces."""
        return [self._read(self._entries[place]) for place in self.list_keys(namespace)]

    def list_keys(self, namespace: str = "") -> Sequence[ObjectKey]:
        """Return the keys of all objects in a namespace; an empty namespace means all namespaces."""
        return list(self._by_namespace.get(namespace, ()) if namespace else self._entries)

    def list_uids(self) -> Sequence[str]:
        """Return the UIDs of all objects."""
        return [entry.uid for entry in self._entries.values()]

    def find_by(self, index: str, value: str) -> Sequence[T]:
        """Return the objects with this value in an index."""
        return [self._read(self._entries[place]) for place in self.find_keys_by(index, value)]

    def find_keys_by(self, index: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys of the objects with this value in an index."""
        return list(self._by_index[index].get(value, ()))

    def put(self, item: T) -> Sequence[Change[T]]:
        """Add or update an object; return the resulting changes."""
        place = key_of(item)
        before = self._entries.get(place)
        if before is None:
            self._enter(place, item)
            return [Change("ADDED", item)]
        metadata = metadata_of(item)
        if before.uid != metadata.uid:  # the object was deleted, and a new object has the same name
            gone = self._read(before)
            return [*self.drop(gone), *self.put(item)]
        if before.revision == metadata.resource_version:
            return []
        self._leave(place, before)
        self._enter(place, item)
        return [Change("MODIFIED", item)]

    def drop(self, item: T) -> Sequence[Change[T]]:
        """Remove an object; `item` is its last state. Return the resulting changes."""
        place = key_of(item)
        before = self._entries.get(place)
        if before is None or before.uid != metadata_of(item).uid:
            return []
        self._leave(place, before)
        return [Change("DELETED", item)]

    def replace(self, items: Iterable[T]) -> Sequence[Change[T]]:
        """Replace all objects in the cache with these objects; return the resulting changes."""
        present = {key_of(item): item for item in items}
        changes: list[Change[T]] = []
        for place in [place for place in self._entries if place not in present]:
            changes += self.drop(self._read(self._entries[place]))
        for item in present.values():
            changes += self.put(item)
        return changes

    def _read(self, entry: _Entry) -> T:
        return decode(entry.text, self._kind)

    def _enter(self, place: ObjectKey, item: T) -> None:
        metadata = metadata_of(item)
        values = tuple(tuple(set(indexer(item))) for indexer in self._indexers.values())
        self._entries[place] = _Entry(metadata.uid or "", metadata.resource_version or "", encode(item), values)
        self._by_namespace.setdefault(place.namespace, {})[place] = None
        for index, found in zip(self._by_index.values(), values, strict=True):
            for value in found:
                index.setdefault(value, {})[place] = None

    def _leave(self, place: ObjectKey, entry: _Entry) -> None:
        del self._entries[place]
        _remove(self._by_namespace, place.namespace, place)
        for index, found in zip(self._by_index.values(), entry.values, strict=True):
            for value in found:
                _remove(index, value, place)


def key_of(item: Model) -> ObjectKey:
    """Return the key of an object."""
    metadata = metadata_of(item)
    return ObjectKey(intern(metadata.namespace or ""), metadata.name or "")


def _remove(table: dict[str, dict[ObjectKey, None]], value: str, place: ObjectKey) -> None:
    table[value].pop(place, None)
    if not table[value]:
        del table[value]
