"""
A view of a server without what controllers never look at, for keeping many objects at hand.

Who owns which field is most of what an object weighs; a server keeps it when an update leaves it out.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

from virtshape.api.model import Model
from virtshape.client.protocol import Client, Listing, WatchEvent
from virtshape.client.resources import metadata_of

T = TypeVar("T", bound=Model)


class TrimmingClient:
    """Passes everything on, and takes field ownership off what is listed and watched."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def list(self, kind: type[T], namespace: str = "", **options: Any) -> Listing[T]:
        """Objects, lighter than they are."""
        listing = await self._client.list(kind, namespace, **options)
        for item in listing.items:
            metadata_of(item).managed_fields = None
        return listing

    async def watch(self, kind: type[T], namespace: str = "", **options: Any) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes of objects, lighter than they are."""
        async with aclosing(self._client.watch(kind, namespace, **options)) as events:
            async for event in events:
                if event.item is not None:
                    metadata_of(event.item).managed_fields = None
                yield event
