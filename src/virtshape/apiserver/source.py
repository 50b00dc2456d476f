"""
Where objects are read from: the store, or a list of objects that never changes.

Both answer at once.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from virtshape.store.record import Event, Key, Page, Record
from virtshape.store.store import Store
from virtshape.store.watch import Subscription

FIXED_REVISION: Final = 1


class ObjectSource(Protocol):
    """What reading needs of the store."""

    @property
    def revision(self) -> int:
        """The newest revision that watches were told of."""

    @property
    def newest(self) -> int:
        """The newest revision that anyone can have read."""

    def get(self, key: Key) -> Record | None:
        """The object at a key."""

    def list(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Objects in order of their keys: now, or as they stood at a revision still kept."""

    def list_changes(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], bool]:
        """Return changes after a revision that is still kept, a few MiB at most, and whether these are all."""

    def watch(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], Subscription]:
        """The changes after a revision that is still kept, and a subscription to those that follow them."""

    def get_revision(self, revision: int) -> bytes | None:
        """The bytes that a revision wrote, if it is still kept."""


class FixedSource:
    """Cluster-wide objects of one resource that are there from the start and stay as they are; written when needed."""

    def __init__(self, store: Store, resource: str, names: Sequence[str], write: Callable[[str], bytes]) -> None:
        self._store = store
        self._resource = resource
        self._names = sorted(names)
        self._write = write
        self._written: dict[str, Record] = {}

    @property
    def revision(self) -> int:
        """The store's, so that lists and watches of all resources agree on the time."""
        return self._store.revision

    @property
    def newest(self) -> int:
        """The store's, as above."""
        return self._store.newest

    def get(self, key: Key) -> Record | None:
        """The object at a key."""
        return self._find(key.name) if key.name in self._names else None

    def list(
        self,
        resource: str,  # noqa: ARG002 - there is only one
        namespace: str | None = None,  # noqa: ARG002 - and it has none
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Objects in order of their names."""
        names = [name for name in self._names if after is None or name > after.name]
        chosen = names if limit < 0 else names[:limit]
        return Page([self._find(name) for name in chosen], at or self.revision, len(names) - len(chosen))

    def list_changes(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], bool]:
        """Return no changes."""
        return self._store.list_changes(resource, namespace, since)

    def watch(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], Subscription]:
        """No changes, now or later."""
        return self._store.watch(resource, namespace, since)

    def get_revision(self, revision: int) -> bytes | None:
        """Nothing that was replaced, for nothing is."""
        return self._store.get_revision(revision)

    def _find(self, name: str) -> Record:
        if name not in self._written:
            self._written[name] = Record(Key(self._resource, "", name), FIXED_REVISION, self._write(name))
        return self._written[name]
