"""
Events: the story of an object as `kubectl describe` tells it, one for each step and refusal.

The same again is counted, not told twice. Telling never holds up the work, and its failures are only logged.
"""

import asyncio
import contextlib
import hashlib
import itertools
import logging
from collections.abc import AsyncIterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from virtshape.api.core.event import Event, EventSource
from virtshape.api.core.reference import ObjectReference
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.controllers.runtime.clock import Clock, format_time
from virtshape.controllers.runtime.ownerreferences import Object
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import EVENT_RECORDER

MOST_WAITING: Final = 10_000
MOST_AT_ONCE: Final = 32
FEW_AT_ONCE: Final = 4
"""For a server that takes as long for many as for each of them: the work itself goes first there."""
GATHERING_SECONDS: Final = 0.1
MOST_WORDS: Final = 1024
_FLUSH_SECONDS: Final = 5.0
_log = logging.getLogger(__name__)


class Happening(NamedTuple):
    """Something that happened to an object; what happens again is the same happening."""

    involved: tuple[str, str, str, str, str]
    type: Literal["Normal", "Warning"]
    reason: str
    message: str

    @property
    def name(self) -> str:
        """The name of its event: always the same for the same."""
        digest = hashlib.blake2b("\0".join((*self.involved, *self[1:])).encode(), digest_size=8).hexdigest()
        return f"{self.involved[3]}.{digest}"


class _Tally(Struct):
    """How often something happened that was not told yet."""

    count: int
    first: float
    last: float


class Recorder:
    """Tells what happens, in the background, as one component, so many at once at most."""

    def __init__(self, client: Client, component: str, clock: Clock, *, at_once: int = MOST_AT_ONCE) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._at_once = at_once
        self._waiting: dict[Happening, _Tally] = {}
        self._news = asyncio.Event()
        self._busy = False

    def tell(self, about: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Have it told that something happened to the object."""
        metadata = about.metadata or ObjectMeta()
        involved = (about.api_version, about.kind, metadata.namespace or "", metadata.name or "", metadata.uid or "")
        happening = Happening(involved, "Warning" if warning else "Normal", reason, message[:MOST_WORDS])
        now = self._clock()
        tally = self._waiting.get(happening)
        if tally is not None:
            tally.count += 1
            tally.last = now
        elif len(self._waiting) < MOST_WAITING:
            self._waiting[happening] = _Tally(1, now, now)
            self._news.set()

    @contextlib.asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Write events for as long as the block lasts, and at its end those that are left."""
        async with supervisor.running(EVENT_RECORDER, self._work):
            try:
                yield
            finally:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.flush(), _FLUSH_SECONDS)

    async def flush(self) -> None:
        """Wait until all is told."""
        while self._waiting or self._busy:
            await asyncio.sleep(0.001)

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                await self._news.wait()
            await asyncio.sleep(GATHERING_SECONDS)  # many at once cost little more than one
            self._news.clear()
            while self._waiting:
                batch = dict(itertools.islice(self._waiting.items(), self._at_once))
                for happening in batch:
                    del self._waiting[happening]
                self._busy = True
                try:
                    await asyncio.gather(*(self._try(happening, tally) for happening, tally in batch.items()))
                finally:
                    self._busy = False

    async def _try(self, happening: Happening, tally: _Tally) -> None:
        try:
            await self._write(happening, tally)
        except (StatusError, UnreachableError) as error:
            _log.info("writing event %s of %s failed: %s", happening.reason, happening.involved[3], error)

    async def _write(self, happening: Happening, tally: _Tally) -> None:
        event = self._build(happening, tally)
        try:
            await self._client.create(event)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._count(event, tally)

    async def _count(self, event: Event, tally: _Tally) -> None:
        metadata = event.metadata or ObjectMeta()
        name, namespace = metadata.name or "", metadata.namespace or ""
        told = await self._client.get(Event, name, namespace)
        patch = {"count": (told.count or 1) + tally.count, "lastTimestamp": format_time(tally.last)}
        await self._client.patch(Event, name, namespace, patch=patch)

    def _build(self, happening: Happening, tally: _Tally) -> Event:
        api_version, kind, namespace, name, uid = happening.involved
        home = namespace or "default"
        return Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=happening.name, namespace=home),
            involved_object=ObjectReference(
                name=name, api_version=api_version, kind=kind, namespace=namespace or None, uid=uid or None
            ),
            type=happening.type,
            reason=happening.reason,
            message=happening.message,
            count=tally.count,
            first_timestamp=format_time(tally.first),
            last_timestamp=format_time(tally.last),
            source=EventSource(component=self._component),
            reporting_component=self._component,
        )
