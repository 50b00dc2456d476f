"""
Informers: what is on the server, kept at hand and up to date by a list and a watch.

Every change is told once and in order for its object. A watch that ends goes on where it was; only when the server has
forgotten that far back is everything listed anew, and what changed meanwhile told as if it had been watched. A kind
that the server does not have has no objects; it is asked for again, since it may come.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final, Generic, TypeVar

from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.client.cache import Cache, Change, Indexer
from virtshape.client.errors import ConfigError, GoneError, UnreachableError
from virtshape.client.protocol import Client, WatchEvent

T = TypeVar("T", bound=Model)
Handler = Callable[[Change[T]], object]

PAGE_SIZE: Final = 500
WATCH_SECONDS: Final = 300
SHORT_WATCH_SECONDS: Final = 1.0
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
ABSENCE_SECONDS: Final = 30.0
"""How long a kind that the server does not have is left alone."""
BREATH_ITEMS: Final = 50
_log = logging.getLogger(__name__)


class _AbsentError(Exception):
    """The server has no such kind."""


class Informer(Generic[T]):
    """
    Objects of one kind, in one namespace or in all, that both selectors match.

    Handlers are called on the event loop, one after another, and must not block; one that fails is logged.
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
        """Have a function told of every change from now on, and first of all that is there."""
        for item in self.cache:
            self._tell(handler, Change("ADDED", item))
        self._handlers.append(handler)

    async def run(self) -> None:
        """Keep up to date until cancelled; `synced` is set once everything is there."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_up())
            if self._resync_seconds:
                group.create_task(self._resync_forever())

    async def _keep_up(self) -> None:
        while True:
            try:
                await self._follow(await self._list())
            except GoneError:
                _log.info("%s: listing again, since the server no longer has the last revision", self._kind.__name__)
            except _AbsentError:
                self.synced.set()
                await asyncio.sleep(ABSENCE_SECONDS)
            except (StatusError, UnreachableError, ConfigError) as error:
                await self._back_off(error)

    async def _list(self) -> str:
        """Bring everything up to date at once; the revision that it is of."""
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
                items, continuation, limit = [], "", 0  # too slow for pages: all at once, then
                continue
            except StatusError as error:
                if error.code == 404 and not len(self.cache):  # of one that is known, it is a moment's confusion
                    raise _AbsentError from error
                raise
            items += page.items
            continuation = page.continuation
            if not continuation:
                break
            await asyncio.sleep(0)  # for others, where the server answers at once
        self._tell_all(self.cache.replace(items))
        self._pause = FIRST_PAUSE
        self.synced.set()
        return page.revision

    async def _follow(self, revision: str) -> None:
        """Watch from a revision on, again and again; ends only with an error, GoneError when it takes a new list."""
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
                await self._back_off(UnreachableError("the watch ended as soon as it had begun"))
            else:
                self._pause = FIRST_PAUSE

    def _take(self, event: WatchEvent[T]) -> None:
        if event.item is not None:
            self._tell_all(self.cache.drop(event.item) if event.type == "DELETED" else self.cache.put(event.item))

    def _tell_all(self, changes: Sequence[Change[T]]) -> None:
        for change in changes:
            for handler in self._handlers:
                self._tell(handler, change)

    def _tell(self, handler: Handler[T], change: Change[T]) -> None:
        try:
            handler(change)
        except Exception:  # noqa: BLE001 - one handler's mistake must not keep changes from the others
            _log.exception("%s: a handler failed at a change", self._kind.__name__)

    async def _back_off(self, error: Exception) -> None:
        _log.warning("%s: %s; trying again", self._kind.__name__, error)
        await asyncio.sleep(self._pause * random.uniform(0.5, 1))  # noqa: S311 - no secret
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    async def _resync_forever(self) -> None:
        while True:
            await asyncio.sleep(self._resync_seconds)
            for count, item in enumerate(self.cache):
                self._tell_all([Change("RESYNCED", item)])
                if count % BREATH_ITEMS == 0:
                    await asyncio.sleep(0)
