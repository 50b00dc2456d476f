"""
The Client: what resolving and controllers ask of an API server, whichever way they reach it.

Objects are structs. Everything that a server refuses is a StatusError with its code, reason and causes.
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
    """Some objects as of one revision; more follow if there is a continuation."""

    items: Sequence[T]
    revision: str
    continuation: str = ""
    remaining: int | None = None


class WatchEvent(Struct, Generic[T], frozen=True):
    """
    One change; without an item, the news that all up to a revision has been told.

    `is_initial_end` says that all objects that were there at the beginning have been told.
    """

    type: EventType
    revision: str
    item: T | None = None
    is_initial_end: bool = False


class Client(Protocol):
    """Reads and writes objects."""

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """One object; StatusError 404 if there is none."""

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
        """Objects that both selectors match, in a namespace or everywhere; GoneError if that past is forgotten."""

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
        Changes after a revision as they happen, until the server ends it; close it when done.

        With `initial` all objects there are come first. GoneError if the past since that revision is forgotten.
        """

    async def create(self, item: T, *, dry_run: bool = False) -> T:
        """Store a new object; what the server made of it."""

    async def update(self, item: T, *, dry_run: bool = False) -> T:
        """Replace an object; StatusError 409 if it states a resourceVersion and is not at it any more."""

    async def update_status(self, item: T) -> T:
        """Replace an object's status alone."""

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
        """Change an object in part; the patch is a tree, or with `apply` also an object."""

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
        """Delete an object, if it still has that uid and revision; what is left of it while finalizers hold it."""

    async def close(self) -> None:
        """Hang up."""
