"""
Fan-out of changes: each subscription has its own queue, which is filled on the event loop after each commit.

A subscriber that is too slow is disconnected.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from virtshape.store.record import Event

MAX_PENDING: Final = 20_000
MAX_PENDING_BYTES: Final = 16 * 1024 * 1024


class Subscription:
    """A queue of changes to one resource, in one namespace or in all namespaces."""

    def __init__(self, broadcaster: "Broadcaster", resource: str, namespace: str | None) -> None:
        self._broadcaster = broadcaster
        self.resource = resource
        self.namespace = namespace
        self.seen = 0
        self.overrun = False
        self._pending: list[Event] = []
        self._pending_bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, event: Event) -> None:
        """Queue a change unless it was offered before; if the queue is full, clear the queue and set `overrun`."""
        if event.revision <= self.seen:
            return
        self.seen = event.revision
        if self.overrun:
            return
        self._pending_bytes += len(event.value)
        if len(self._pending) >= MAX_PENDING or self._pending_bytes > MAX_PENDING_BYTES:
            self.overrun = True
            self._pending = []  # free the queued changes, which will not be read
        else:
            self._pending.append(event)
        self._wake()

    async def next(self, timeout: float) -> Sequence[Event]:
        """Return all queued changes; if there are none, wait up to `timeout` seconds for one."""
        if not self._pending and not self.overrun:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(timeout, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        pending, self._pending = self._pending, []
        self._pending_bytes = 0
        return pending

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """End the subscription."""
        self._broadcaster.remove(self)


class Broadcaster:
    """Sends changes to the subscriptions of each resource."""

    def __init__(self) -> None:
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)

    def subscribe(self, resource: str, namespace: str | None) -> Subscription:
        """Return a subscription to changes from now on."""
        subscription = Subscription(self, resource, namespace)
        self._subscriptions[resource].add(subscription)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscription."""
        self._subscriptions[subscription.resource].discard(subscription)

    def publish(self, events: Sequence[Event]) -> None:
        """Send changes to all matching subscriptions."""
        for event in events:
            for subscription in self._subscriptions.get(event.key.resource, ()):
                if subscription.namespace is None or subscription.namespace == event.key.namespace:
                    subscription.offer(event)
