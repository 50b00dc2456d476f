"""
The Client protocol: how resolvers and controllers access an API server.

Objects are structs. Rejections raise StatusError with code, reason and causes.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from virtshape.api.meta import OwnerReference
from virtshape.api.model import Model

T = TypeVar("T", bound=Model)

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
PatchType = Literal["json", "merge", "strategic", "apply"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class Listing(Struct, Generic[T], frozen=True):
    """One page of objects at one revision; more pages follow if `continuation` is not empty."""

    items: Sequence[T]
    revision: str
    continuation: str = ""
    remaining: int | None = None


class WatchEvent(Struct, Generic[T], frozen=True):
    """
    One change, or a bookmark if there is no item.

    `is_initial_end` marks the end of the initial objects.
    """

    type: EventType
    revision: str
    item: T | None = None
    is_initial_end: bool = False


class OwnershipMetadata(Model, forbid_unknown_fields=False):
    """The metadata fields that identify an object, its owners and its deletion."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None


class OwnedObject(Model, forbid_unknown_fields=False):
    """An object of any kind, decoded without the fields that garbage collection does not need."""

    metadata: OwnershipMetadata


class Client(Protocol):
    """Reads and writes objects."""

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Return an object; raise StatusError 404 if the object does not exist."""

    async def list(
        self,
        kind: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continuation: str = "",
        revision: str = "",
        match: Literal["", "Exact", "NotOlderThan"] = "",
    ) -> Listing[T]:
        """List objects that match both selectors, in one or all namespaces; raise GoneError for compacted revisions."""

    def watch(
        self,
        kind: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        revision: str = "",
        bookmarks: bool = True,
        initial: bool = False,
        timeout: int = 0,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """
        Yield changes after a revision until the server ends the watch; the caller must close the generator.

        With `initial`, all existing objects come first. Raise GoneError if the revision is compacted.
        """

    async def list_owned(self, kind: type[Model], *, limit: int = 0, continuation: str = "") -> Listing[OwnedObject]:
        """List objects in all namespaces and decode only their ownership, which takes a fraction of the time."""

    def watch_owned(
        self, kind: type[Model], *, revision: str = "", timeout: int = 0
    ) -> AsyncGenerator[WatchEvent[OwnedObject], None]:
        """Yield changes in all namespaces as `watch` does, and decode only the ownership of objects."""

    async def create(self, item: T, *, dry_run: bool = False) -> T:
        """Create an object; return the object as stored."""

    async def update(self, item: T, *, dry_run: bool = False) -> T:
        """Replace an object and return it; raise StatusError 409 if its resourceVersion is set and outdated."""

    async def update_status(self, item: T) -> T:
        """Replace only the status of an object; return the object."""

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str = "",
        *,
        patch: Any,
        how: PatchType = "merge",
        subresource: str = "",
        manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> T:
        """Patch an object and return it; `patch` is plain data, or a struct for server-side apply."""

    async def delete(
        self,
        kind: type[T],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        revision: str = "",
        propagation: Propagation | None = None,
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> T | None:
        """Delete an object if it has the given UID and revision; return the object if it still exists, else None."""

    async def close(self) -> None:
        """Close all connections."""
