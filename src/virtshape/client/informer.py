"""
Informers: a local cache of the server's objects, kept up to date by list and watch.

Each change to an object is reported once and in order. A watch that ends is resumed; if its revision is compacted, the
objects are listed again and the differences are reported as changes. A kind that the server does not serve has no
objects and is retried. Reads come from the cache and may be slightly out of date.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any, Final, Generic, TypeVar

from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.cache import Cache, Change, Indexer, ObjectKey, Snapshot, key_of
from virtshape.client.errors import ConfigError, GoneError, UnreachableError
from virtshape.client.protocol import Client, WatchEvent
from virtshape.client.resources import format_resource
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import INFORMERS

T = TypeVar("T", bound=Model)
Handler = Callable[[Change[T]], object]

PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = 300
SHORT_WATCH_SECONDS: Final = 1.0
FIRST_PAUSE: Final = 0.5
MAX_PAUSE: Final = 30.0
ABSENCE_SECONDS: Final = 30.0
"""Seconds before the informer again lists a kind that the server does not serve."""
YIELD_ITEMS: Final = 50
_log = logging.getLogger(__name__)


class _AbsentError(Exception):
    """The server does not serve this kind."""


class Informer(Generic[T]):
    """
    A cache of the objects of one kind, in one namespace or in all, that match both selectors.

    Handlers are called one after another on the event loop and must not block; exceptions in handlers are logged.
    """

    def __init__(
        self,
        client: Client,
        kind: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Indexer[T]] | None = None,
        resync_seconds: float = 0,
        watch_seconds: int = WATCH_SECONDS,
    ) -> None:
        self.cache = Cache(kind, indexes)
        self.synced = asyncio.Event()
        self._client = client
        self._kind = kind
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._resync_seconds = resync_seconds
        self._watch_seconds = watch_seconds
        self._handlers: list[Handler[T]] = []
        self._pause = FIRST_PAUSE

    def handle(self, handler: Handler[T]) -> None:
        """Register a handler for all changes; the handler first receives an ADDED change for each cached object."""
        for item in self.cache:
            self._notify(handler, Change("ADDED", item))
        self._handlers.append(handler)

    async def run(self) -> None:
        """
        Keep the cache up to date until cancelled.

        `synced` is set after the first list, or when the server turns out not to serve the kind.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_up())
            if self._resync_seconds:
                group.create_task(self._resync_forever())

    async def _keep_up(self) -> None:
        while True:
            try:
                await self._follow(await self._list())
            except GoneError:
                _log.info("%s: the revision to watch from was compacted; listing again", self._kind.__name__)
            except _AbsentError:
                self.synced.set()
                await asyncio.sleep(ABSENCE_SECONDS)
            except (StatusError, UnreachableError, ConfigError) as error:
                await self._back_off(error)

    async def _list(self) -> str:
        """List all objects and update the cache; return the revision of the list."""
        items: list[T] = []
        continuation, limit = "", PAGE_SIZE
        while True:
            try:
                page = await self._client.list(
                    self._kind,
                    self._namespace,
                    labels=self._labels,
                    fields=self._fields,
                    limit=limit,
                    continuation=continuation,
                )
            except GoneError:
                if not continuation:
                    raise
                items, continuation, limit = [], "", 0  # the continue token expired: list all objects in one request
                continue
            except StatusError as error:
                # If the cache contains objects of the kind, the server serves it, and the 404 is temporary.
                if error.code == 404 and not len(self.cache):
                    raise _AbsentError from error
                raise
            items += page.items
            continuation = page.continuation
            if not continuation:
                break
            await asyncio.sleep(0)  # let other tasks run, in case the server responds without blocking
        self._notify_all(self.cache.replace(items))
        self._pause = FIRST_PAUSE
        self.synced.set()
        return page.revision

    async def _follow(self, revision: str) -> None:
        """Watch from a revision, and resume the watch if it ends or fails; raise GoneError if a new list is needed."""
        while True:
            began = asyncio.get_running_loop().time()
            start = revision
            try:
                events = self._client.watch(
                    self._kind,
                    self._namespace,
                    labels=self._labels,
                    fields=self._fields,
                    revision=revision,
                    timeout=random.randint(self._watch_seconds, 2 * self._watch_seconds),  # noqa: S311 - no secret
                )
                async with aclosing(events):
                    async for event in events:
                        self._take(event)
                        revision = event.revision
            except GoneError:
                raise
            except (StatusError, UnreachableError, ConfigError) as error:
                await self._back_off(error)
                continue
            if revision == start and asyncio.get_running_loop().time() - began < SHORT_WATCH_SECONDS:
                await self._back_off(UnreachableError("the watch ended immediately"))
            else:
                self._pause = FIRST_PAUSE

    def _take(self, event: WatchEvent[T]) -> None:
        if event.item is not None:
            self._notify_all(self.cache.drop(event.item) if event.type == "DELETED" else self.cache.put(event.item))

    def _notify_all(self, changes: Sequence[Change[T]]) -> None:
        for change in changes:
            for handler in self._handlers:
                self._notify(handler, change)

    def _notify(self, handler: Handler[T], change: Change[T]) -> None:
        try:
            handler(change)
        except Exception:  # noqa: BLE001 - a failing handler must not keep changes from the others
            kind, key = self._kind.__name__, key_of(change.item)
            _log.exception(
                "%s %s: a handler for the %s change failed; other handlers are still called", kind, key, change.type
            )

    async def _back_off(self, error: Exception) -> None:
        pause = self._pause * random.uniform(0.5, 1)  # noqa: S311 - no secret
        _log.warning("list or watch of %s failed: %s; retrying in %.1f s", self._kind.__name__, error, pause)
        await asyncio.sleep(pause)
        self._pause = min(2 * self._pause, MAX_PAUSE)

    async def _resync_forever(self) -> None:
        while True:
            await asyncio.sleep(self._resync_seconds)
            for count, item in enumerate(self.cache):
                self._notify_all([Change("RESYNCED", item)])
                if count % YIELD_ITEMS == 0:
                    await asyncio.sleep(0)


class Informers:
    """A set of informers that run together, one per kind."""

    def __init__(self, client: Client, namespace: str = "", *, resync_seconds: float = 0) -> None:
        self._client = client
        self._namespace = namespace
        self._resync_seconds = resync_seconds
        self._informers: dict[type[Model], Informer[Any]] = {}

    def add(self, kind: type[T], indexes: Mapping[str, Indexer[T]] | None = None, *, labels: str = "") -> Informer[T]:
        """
        Return the informer for a kind; if there is none, create it with these indexes and labels.

        All informers must be added before they run.
        """
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
        """Return the cached object with this name and namespace, or None."""
        found: T | None = self._informers[kind].cache.find(name, namespace)
        return found

    def list(self, kind: type[T], namespace: str = "") -> Sequence[T]:
        """Return all objects of a kind in a namespace; an empty namespace means all namespaces."""
        found: Sequence[T] = self._informers[kind].cache.list(namespace)
        return found

    def take_snapshot(self, kind: type[T]) -> Snapshot[T]:
        """Return a snapshot of the cached objects of a kind."""
        found: Snapshot[T] = self._informers[kind].cache.take_snapshot()
        return found

    def list_keys(self, kind: type[Model]) -> Sequence[ObjectKey]:
        """Return the keys of all objects of a kind."""
        return self._informers[kind].cache.list_keys()

    def list_uids(self, kind: type[Model]) -> Sequence[str]:
        """Return the UIDs of all objects of a kind."""
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
        """Run all informers during the block; an informer that fails is restarted separately."""
        async with AsyncExitStack() as stack:
            for kind, informer in self._informers.items():
                await stack.enter_async_context(supervisor.running(INFORMERS, informer.run, item=format_resource(kind)))
            yield

    @property
    def are_synced(self) -> bool:
        """True if each informer has listed its objects, or has found that the server does not serve its kind."""
        return all(informer.synced.is_set() for informer in self._informers.values())

    async def wait(self, kinds: Iterable[type[Model]] | None = None) -> None:
        """Wait until the informers of these kinds, or of all kinds, have synced."""
        for kind in self._informers if kinds is None else kinds:
            await self._informers[kind].synced.wait()
