"""
A set of informers that run together.

Reads come from caches and may be slightly out of date.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

from virtshape.api.model import Model
from virtshape.client.cache import Indexer, ObjectKey
from virtshape.client.informer import Informer
from virtshape.client.protocol import Client
from virtshape.client.resources import format_resource
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import INFORMERS

T = TypeVar("T", bound=Model)


class Informers:
    """One informer per kind."""

    def __init__(self, client: Client, namespace: str = "", *, resync_seconds: float = 0) -> None:
        self._client = client
        self._namespace = namespace
        self._resync_seconds = resync_seconds
        self._informers: dict[type[Model], Informer[Any]] = {}

    def add(self, kind: type[T], indexes: Mapping[str, Indexer[T]] | None = None, *, labels: str = "") -> Informer[T]:
        """Return the informer of a kind, created if missing; all must be added before they run."""
        if kind not in self._informers:
            self._informers[kind] = Informer(
                self._client,
                kind,
                self._namespace,
                labels=labels,
                indexes=indexes,
                resync_seconds=self._resync_seconds,
            )
        return self._informers[kind]

    def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Return the cached object of this name, or None."""
        found: T | None = self._informers[kind].cache.find(name, namespace)
        return found

    def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Return all objects of a kind in a namespace, or in all."""
        found: Sequence[T] = self._informers[kind].cache.list(namespace)
        return found

    def list_keys(self, kind: type[Model]) -> Sequence[ObjectKey]:
        """Return the keys of all objects of a kind."""
        return self._informers[kind].cache.list_keys()

    def list_uids(self, kind: type[Model]) -> Sequence[str]:
        """Return the uids of all objects of a kind."""
        return self._informers[kind].cache.list_uids()

    def find_keys_by(self, kind: type[Model], index: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys of the objects of a kind with this value in an index."""
        return self._informers[kind].cache.find_keys_by(index, value)

    def find_by(self, kind: type[T], index: str, value: str) -> Sequence[T]:
        """Return the objects of a kind with this value in an index."""
        found: Sequence[T] = self._informers[kind].cache.find_by(index, value)
        return found

    @asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Run all informers during the block; each is restarted separately if it fails."""
        async with AsyncExitStack() as stack:
            for kind, informer in self._informers.items():
                await stack.enter_async_context(supervisor.running(INFORMERS, informer.run, item=format_resource(kind)))
            yield

    async def wait(self, kinds: Iterable[type[Model]] | None = None) -> None:
        """Wait until these kinds, or all, are synced."""
        for kind in self._informers if kinds is None else kinds:
            await self._informers[kind].synced.wait()
