"""
Clients for controllers: `FencedClient` rejects writes once leadership may be lost, `TrimmingClient` saves memory.

Fencing protects against a process that was suspended and resumes with an expired lease. Fencing does not affect reads.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, TypeVar

from virtshape.api.apps import ControllerRevision
from virtshape.api.model import Model
from virtshape.api.wellknown import SHARED_REVISION_LABEL
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client, Listing, WatchEvent
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)

_WRITERS: Final = frozenset({"create", "update", "update_status", "patch", "delete"})


class FencedClient:
    """Forwards all calls; rejects writes with UnreachableError unless `may_write` returns True."""

    def __init__(self, client: Client, may_write: Callable[[], bool]) -> None:
        self._client = client
        self._may_write = may_write

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        return self._guard(method) if name in _WRITERS else method

    def _guard(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def write(*given: Any, **named: Any) -> Any:
            if not self._may_write():
                raise UnreachableError("write rejected: this process no longer holds the leader lease")
            return await method(*given, **named)

        return write


class TrimmingClient:
    """
    Forwards all calls, and removes fields that controllers do not read from listed and watched objects, to save memory.

    The removed fields are managedFields, which the server preserves if an update omits them, and the data, labels,
    annotations and creation time of revisions. The label of shared revisions is not removed.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, kind: type[T], namespace: str = "", **options: Any) -> Listing[T]:
        """Return a list of trimmed objects."""
        listing = await self._client.list(kind, namespace, **options)
        for item in listing.items:
            _trim(item)
        return listing

    async def watch(self, kind: type[T], namespace: str = "", **options: Any) -> AsyncGenerator[WatchEvent[T], None]:
        """Yield watch events with trimmed objects."""
        async with aclosing(self._client.watch(kind, namespace, **options)) as events:
            async for event in events:
                if event.item is not None:
                    _trim(event.item)
                yield event


def _trim(item: Model) -> None:
    metadata = metadata_of(item)
    metadata.managed_fields = None
    if isinstance(item, ControllerRevision):
        shared = (metadata.labels or {}).get(SHARED_REVISION_LABEL)
        metadata.labels = {SHARED_REVISION_LABEL: shared} if shared is not None else None
        item.data = metadata.annotations = metadata.creation_timestamp = None
