"""
Event expiry: delete events one hour after they last occurred, as kube-apiserver does.

Event expiry runs only where there is no kube-apiserver.
"""

import asyncio
from typing import Final

from virtshape.api.core.event import Event
from virtshape.api.status import StatusError
from virtshape.api.times import Clock, parse_time
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of

KEPT_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 600.0
PAGE: Final = 500


class EventExpiry:
    """Deletes old events through a client."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def run(self) -> None:
        """Delete old events every ten minutes until cancelled, for the first time after ten minutes."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def sweep(self) -> int:
        """Delete expired events and return their number."""
        now = self._clock()
        # An event from the future was written before the clock was set back.
        oldest, newest = now - KEPT_SECONDS, now + KEPT_SECONDS
        expired: list[Event] = []
        continuation = ""
        while True:
            page = await self._client.list(Event, limit=PAGE, continuation=continuation)
            expired += [event for event in page.items if not oldest <= _last_time(event) <= newest]
            continuation = page.continuation
            if not continuation:
                break
            await asyncio.sleep(0)  # yield to other tasks: an in-process server responds without waiting
        for event in expired:
            await self._delete(event)
        return len(expired)

    async def _delete(self, event: Event) -> None:
        """Delete an event unless it occurred again in the meantime."""
        metadata = metadata_of(event)
        revision = metadata.resource_version or ""
        try:
            await self._client.delete(Event, metadata.name or "", metadata.namespace or "", revision=revision)
        except StatusError as error:
            if error.code not in (404, 409):
                raise


def _last_time(event: Event) -> float:
    """Return the time of the last occurrence, or the creation time if the event does not contain it."""
    observed = event.series.last_observed_time if event.series else None
    stated = observed or event.last_timestamp or event.event_time or metadata_of(event).creation_timestamp
    return parse_time(stated) if stated else 0.0
