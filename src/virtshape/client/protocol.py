"""
The Client protocol: how resolvers and controllers access an API server.

Objects are structs. Rejections raise StatusError with code, reason and causes.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct

from virtshape.api.model import Model

T = TypeVar("T", bound=Model)

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
PatchType = Literal["json", "merge", "strategic", "apply"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class Listing(Struct, Generic[T], frozen=True):
    """Objects as of one revision; more pages follow if `continuation` is not empty."""

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


class Client(Protocol):
    """Reads and writes objects."""

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Return an object; raise StatusError 404 if it does not exist."""

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

        With `initial`, all existing objects come first. Raises GoneError if the revision is compacted.
        """

    async def create(self, item: T, *, dry_run: bool = False) -> T:
        """Create an object; return it as stored."""

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
        """Patch an object and return it; `patch` is a tree, and may be a struct for server-side apply."""

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
        """Delete an object if it has the given UID and revision; return the object if it still exists, or None."""

    async def close(self) -> None:
        """Close all connections."""
