"""
Objects kept at hand, by namespace and name and by whatever else one asks for them by.

Pure: told of objects, it says what changed. Where they come from is not known here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from virtshape.api.model import Model
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)

Indexer = Callable[[T], Iterable[str]]
"""The values under which an object is to be found."""


class Place(NamedTuple):
    """Where an object is; cluster-wide ones have no namespace."""

    namespace: str
    name: str


class Change(Struct, Generic[T], frozen=True):
    """What became of an object: as it is now or last was, and as it was before."""

    type: Literal["ADDED", "MODIFIED", "DELETED", "RESYNCED"]
    item: T
    before: T | None = None


class Cache(Generic[T]):
    """Objects of one kind; they are shared, so nobody may write to them."""

    def __init__(self, indexes: Mapping[str, Indexer[T]] | None = None) -> None:
        self._indexers = dict(indexes or {})
        self._items: dict[Place, T] = {}
        self._by_namespace: dict[str, dict[Place, T]] = {}
        self._by_index: dict[str, dict[str, dict[Place, T]]] = {name: {} for name in self._indexers}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._items.values()))

    def find(self, name: str, namespace: str = "") -> T | None:
        """The object of this name, if there is one."""
        return self._items.get(Place(namespace, name))

    def list(self, namespace: str = "") -> Sequence[T]:
        """All objects in a namespace, or everywhere."""
        return list(self._by_namespace.get(namespace, {}).values() if namespace else self._items.values())

    def find_by(self, index: str, value: str) -> Sequence[T]:
        """All objects that an index has under a value."""
        return list(self._by_index[index].get(value, {}).values())

    def put(self, item: T) -> Sequence[Change[T]]:
        """Take note of an object as it is now; what that changes."""
        place = _place(item)
        before = self._items.get(place)
        if before is None:
            self._enter(place, item)
            return [Change("ADDED", item)]
        old, new = metadata_of(before), metadata_of(item)
        if old.uid != new.uid:  # one has gone and another come under its name, unseen
            return [*self.drop(before), *self.put(item)]
        if old.resource_version == new.resource_version:
            return []
        self._leave(place, before)
        self._enter(place, item)
        return [Change("MODIFIED", item, before)]

    def drop(self, item: T) -> Sequence[Change[T]]:
        """Take note that an object is gone, as it last was; what that changes."""
        place = _place(item)
        before = self._items.get(place)
        if before is None or metadata_of(before).uid != metadata_of(item).uid:
            return []
        self._leave(place, before)
        return [Change("DELETED", item, before)]

    def replace(self, items: Iterable[T]) -> Sequence[Change[T]]:
        """Take note of all objects that there are now; what that changes."""
        present = {_place(item): item for item in items}
        changes: list[Change[T]] = []
        for place in [place for place in self._items if place not in present]:
            changes += self.drop(self._items[place])
        for item in present.values():
            changes += self.put(item)
        return changes

    def _enter(self, place: Place, item: T) -> None:
        self._items[place] = item
        self._by_namespace.setdefault(place.namespace, {})[place] = item
        for name, values in self._list_values(item):
            for value in values:
                self._by_index[name].setdefault(value, {})[place] = item

    def _leave(self, place: Place, item: T) -> None:
        del self._items[place]
        _remove(self._by_namespace, place.namespace, place)
        for name, values in self._list_values(item):
            for value in values:
                _remove(self._by_index[name], value, place)

    def _list_values(self, item: T) -> Iterator[tuple[str, set[str]]]:
        for name, indexer in self._indexers.items():
            yield name, set(indexer(item))


def index_by_label(label: str) -> Indexer[Model]:
    """Finds objects by the value of one label."""

    def list_values(item: Model) -> Iterable[str]:
        labels = metadata_of(item).labels or {}
        return [labels[label]] if label in labels else []

    return list_values


def index_by_owner(item: Model) -> Iterable[str]:
    """Find objects by the uid of an owner."""
    return [owner.uid for owner in metadata_of(item).owner_references or ()]


def _place(item: Model) -> Place:
    metadata = metadata_of(item)
    return Place(metadata.namespace or "", metadata.name or "")


def _remove(table: dict[str, dict[Place, T]], value: str, place: Place) -> None:
    table[value].pop(place, None)
    if not table[value]:
        del table[value]
