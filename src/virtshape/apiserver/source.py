"""Sources of objects for reads: the store, or a fixed list of objects."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

from virtshape.store.record import Event, Key, Page, Record
from virtshape.store.store import Store
from virtshape.store.watch import Subscription

FIXED_REVISION: Final = 1

R = TypeVar("R")


class PageSource(Protocol):
    """A source of lists: the current state, or a snapshot of it in another thread."""

    def list(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Return a page of objects in key order, at the current or an earlier revision, if it is not compacted."""


class ObjectSource(PageSource, Protocol):
    """The methods of the store that read requests use."""

    @property
    def revision(self) -> int:
        """The newest revision that watches have received."""

    @property
    def newest(self) -> int:
        """The newest revision that a client can have read."""

    def get(self, key: Key) -> Record | None:
        """Return the object at a key, or None."""

    def has_more_than(self, count: int, resource: str, namespace: str | None = None) -> bool:
        """Return True if more than `count` objects exist."""

    def read_snapshot(self, read: Callable[[PageSource], R]) -> R:
        """Call `read` with a snapshot of the current state; may be called in any thread."""

    def list_in_batches(self, resource: str, namespace: str | None = None) -> tuple[int, Iterator[Sequence[Record]]]:
        """Return the current revision and its objects in key order, in batches that are read one by one."""

    def watch(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], Subscription | None]:
        """
        Return the changes after a revision that is not compacted, and a subscription to all later changes.

        At most about 1 MiB of changes is returned. If there are more, the subscription is None.
        """

    def get_revision(self, revision: int) -> bytes | None:
        """Return the bytes that a revision wrote, or None if they are no longer stored."""


class FixedSource:
    """Cluster-scoped objects of one resource that never change; each object is built on first use."""

    def __init__(self, store: Store, resource: str, names: Sequence[str], write: Callable[[str], bytes]) -> None:
        self._store = store
        self._resource = resource
        self._names = sorted(names)
        self._write = write
        self._written: dict[str, Record] = {}

    @property
    def revision(self) -> int:
        """The store's revision, so that lists and watches of all resources agree."""
        return self._store.revision

    @property
    def newest(self) -> int:
        """The store's newest revision."""
        return self._store.newest

    def get(self, key: Key) -> Record | None:
        """Return the object at a key, or None."""
        return self._get_record(key.name) if key.name in self._names else None

    def list(
        self,
        resource: str,  # noqa: ARG002 - there is only one resource
        namespace: str | None = None,  # noqa: ARG002 - the objects are cluster-scoped
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Return objects in name order."""
        names = [name for name in self._names if after is None or name > after.name]
        chosen = names if limit < 0 else names[:limit]
        return Page([self._get_record(name) for name in chosen], at or self.revision, len(names) - len(chosen))

    def has_more_than(self, count: int, resource: str, namespace: str | None = None) -> bool:
        """Return True if there are more than `count` objects."""
        _ = resource, namespace
        return len(self._names) > count

    def read_snapshot(self, read: Callable[[PageSource], R]) -> R:
        """Call `read` with these objects, which never change."""
        return read(self)

    def list_in_batches(self, resource: str, namespace: str | None = None) -> tuple[int, Iterator[Sequence[Record]]]:
        """Return the store's revision and an iterator over the objects in name order."""
        _ = resource, namespace
        return self.revision, ([self._get_record(name)] for name in self._names)

    def watch(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], Subscription | None]:
        """Return no changes and a subscription without events."""
        return self._store.watch(resource, namespace, since)

    def get_revision(self, revision: int) -> bytes | None:
        """Return the bytes that a revision of the store wrote, or None; the objects of this source are not stored."""
        return self._store.get_revision(revision)

    def _get_record(self, name: str) -> Record:
        if name not in self._written:
            self._written[name] = Record(Key(self._resource, "", name), FIXED_REVISION, self._write(name))
        return self._written[name]
