"""
Old events are forgotten, an hour after they last happened, as in every cluster.

Only where no kube-apiserver does the same.
"""

import asyncio
from typing import Final

from virtshape.api.core.event import Event
from virtshape.api.status import StatusError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.controllers.runtime.clock import Clock, parse_time

KEPT_SECONDS: Final = 3600.0
SWEEP_SECONDS: Final = 600.0
PAGE: Final = 500


class EventExpiry:
    """Forgets old events over a client."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def run(self) -> None:
        """Delete old events every ten minutes, until cancelled; the first time after ten minutes."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def sweep(self) -> int:
        """Delete the events that are too old; how many."""
        oldest = self._clock() - KEPT_SECONDS
        expired: list[Event] = []
        continuation = ""
        while True:
            page = await self._client.list(Event, limit=PAGE, continuation=continuation)
            expired += [event for event in page.items if _last_time(event) < oldest]
            continuation = page.continuation
            if not continuation:
                break
            await asyncio.sleep(0)  # for others, where the server answers at once
        for event in expired:
            await self._delete(event)
        return len(expired)

    async def _delete(self, event: Event) -> None:
        """Delete an event, unless it has happened again meanwhile."""
        metadata = metadata_of(event)
        revision = metadata.resource_version or ""
        try:
            await self._client.delete(Event, metadata.name or "", metadata.namespace or "", revision=revision)
        except StatusError as error:
            if error.code not in (404, 409):
                raise


def _last_time(event: Event) -> float:
    """When the event last happened; one that does not say counts from when it was made."""
    observed = event.series.last_observed_time if event.series else None
    stated = observed or event.last_timestamp or event.event_time or metadata_of(event).creation_timestamp
    return parse_time(stated) if stated else 0.0
