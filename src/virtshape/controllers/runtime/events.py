"""
Event recorder: write Kubernetes events in the background and count repetitions.

Recording an event never blocks the caller. A write that fails is only logged.
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
from virtshape.api.ownerreferences import Object
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, format_time
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import EVENT_RECORDER

MAX_QUEUED: Final = 10_000
MAX_PARALLEL: Final = 32
MAX_PARALLEL_ON_CLUSTER: Final = 4
"""Maximum number of parallel event writes on a cluster; more would delay other requests."""
BATCH_SECONDS: Final = 0.1
MAX_MESSAGE_LENGTH: Final = 1024
_FLUSH_SECONDS: Final = 5.0
_log = logging.getLogger(__name__)


class EventKey(NamedTuple):
    """Identifies an event; an event with the same key is a repetition."""

    involved: tuple[str, str, str, str, str]
    type: Literal["Normal", "Warning"]
    reason: str
    message: str

    @property
    def name(self) -> str:
        """Name of the Event object, derived from the key."""
        digest = hashlib.blake2b("\0".join((*self.involved, *self[1:])).encode(), digest_size=8).hexdigest()
        return f"{self.involved[3]}.{digest}"


class _Occurrences(Struct):
    """Occurrences of an event that are not written yet: their number, and the times of the first and the last."""

    count: int
    first: float
    last: float


class EventRecorder:
    """Writes events of one component in the background, at most `parallel` at a time."""

    def __init__(self, client: Client, component: str, clock: Clock, *, parallel: int = MAX_PARALLEL) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._parallel = parallel
        self._waiting: dict[EventKey, _Occurrences] = {}
        self._added = asyncio.Event()
        self._busy = False

    def event(self, involved_object: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an event about an object; drop the event if the queue is full."""
        metadata = involved_object.metadata
        involved = (
            involved_object.api_version,
            involved_object.kind,
            metadata.namespace or "",
            metadata.name or "",
            metadata.uid or "",
        )
        key = EventKey(involved, "Warning" if warning else "Normal", reason, message[:MAX_MESSAGE_LENGTH])
        now = self._clock()
        occurrences = self._waiting.get(key)
        if occurrences is not None:
            occurrences.count += 1
            occurrences.last = now
        elif len(self._waiting) < MAX_QUEUED:
            self._waiting[key] = _Occurrences(1, now, now)
            self._added.set()

    @contextlib.asynccontextmanager
    async def running(self, supervisor: Supervisor) -> AsyncIterator[None]:
        """Write events during the `async with` block; at its end, write remaining events, for at most five seconds."""
        async with supervisor.running(EVENT_RECORDER, self._work):
            try:
                yield
            finally:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_FLUSH_SECONDS):
                        await self.flush()

    async def flush(self) -> None:
        """Wait until all events are written or dropped."""
        while self._waiting or self._busy:
            await asyncio.sleep(0.001)

    async def _work(self) -> None:
        while True:
            if not self._waiting:
                await self._added.wait()
            await asyncio.sleep(BATCH_SECONDS)  # events that arrive in this time are written together
            self._added.clear()
            while self._waiting:
                batch = dict(itertools.islice(self._waiting.items(), self._parallel))
                for key in batch:
                    del self._waiting[key]
                self._busy = True
                try:
                    await asyncio.gather(*(self._try_write(key, occurrences) for key, occurrences in batch.items()))
                finally:
                    self._busy = False

    async def _try_write(self, key: EventKey, occurrences: _Occurrences) -> None:
        try:
            await self._write(key, occurrences)
        except (StatusError, UnreachableError) as error:
            _, kind, namespace, name, _ = key.involved
            place = f"{namespace}/{name}" if namespace else name
            _log.info("writing event %s for %s %s failed: %s; dropping it", key.reason, kind, place, error)

    async def _write(self, key: EventKey, occurrences: _Occurrences) -> None:
        event = self._build(key, occurrences)
        try:
            await self._client.create(event)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            await self._add_count(event, occurrences)

    async def _add_count(self, event: Event, occurrences: _Occurrences) -> None:
        metadata = event.metadata
        name, namespace = metadata.name or "", metadata.namespace or ""
        existing = await self._client.get(Event, name, namespace)
        patch = {"count": (existing.count or 1) + occurrences.count, "lastTimestamp": format_time(occurrences.last)}
        await self._client.patch(Event, name, namespace, patch=patch)

    def _build(self, key: EventKey, occurrences: _Occurrences) -> Event:
        api_version, kind, namespace, name, uid = key.involved
        home = namespace or "default"
        return Event(
            api_version="v1",
            kind="Event",
            metadata=ObjectMeta(name=key.name, namespace=home),
            involved_object=ObjectReference(
                name=name, api_version=api_version, kind=kind, namespace=namespace or None, uid=uid or None
            ),
            type=key.type,
            reason=key.reason,
            message=key.message,
            count=occurrences.count,
            first_timestamp=format_time(occurrences.first),
            last_timestamp=format_time(occurrences.last),
            source=EventSource(component=self._component),
            reporting_component=self._component,
        )
