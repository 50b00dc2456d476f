"""
A client that removes managed fields from listed and watched objects, to save memory in caches.

The server keeps managed fields when an update leaves them out.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

from virtshape.api.model import Model
from virtshape.client.protocol import Client, Listing, WatchEvent
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)


class TrimmingClient:
    """Forwards all calls and removes managed fields from lists and watches."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, kind: type[T], namespace: str = "", **options: Any) -> Listing[T]:
        """List objects without managed fields."""
        listing = await self._client.list(kind, namespace, **options)
        for item in listing.items:
            metadata_of(item).managed_fields = None
        return listing

    async def watch(self, kind: type[T], namespace: str = "", **options: Any) -> AsyncGenerator[WatchEvent[T], None]:
        """Watch objects without managed fields."""
        async with aclosing(self._client.watch(kind, namespace, **options)) as events:
            async for event in events:
                if event.item is not None:
                    metadata_of(event.item).managed_fields = None
                yield event
