"""
Watch: stream changes to clients; an event is encoded once for all watches in the same format.

If an object starts or stops matching the selector of a watch, this watch reports it as ADDED or DELETED.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

import msgspec

from virtshape.api.codec import encode
from virtshape.api.status import StatusError
from virtshape.api.wellknown import INITIAL_EVENTS_END
from virtshape.apiserver.encoding.negotiation import ResponseFormat, choose_format
from virtshape.apiserver.encoding.partial import partial_object
from virtshape.apiserver.encoding.table import DEFAULT_INCLUDE, render_table
from virtshape.apiserver.listoptions import ListOptions, read_options, read_watch_revision
from virtshape.apiserver.message import JSON, Request, Stream
from virtshape.apiserver.reading import require_revision_reached
from virtshape.apiserver.resource import Resource, resource_of, with_revision
from virtshape.apiserver.responses import NO_CACHE, expired_revision_error, replaced_store_error
from virtshape.apiserver.route import Route
from virtshape.apiserver.selectors.selection import Selection, compile_selection
from virtshape.apiserver.source import ObjectSource
from virtshape.store.errors import CompactedError, FutureError
from virtshape.store.record import Event, Record
from virtshape.store.watch import Subscription

BOOKMARK_SECONDS: Final = 60.0
LAST_BOOKMARK_SECONDS: Final = 2.0
CHUNK_BYTES: Final = 1024 * 1024
"""Maximum number of bytes of events to encode at a time, because a client that is far behind may need many events."""


def watch_objects(store: ObjectSource, request: Request, route: Route) -> Stream:
    """Return a stream of changes, from a revision or from the current state; raise StatusError for invalid options."""
    response_format = choose_format(request.headers.get("accept", ""))
    if response_format.yaml:
        raise StatusError(406, "NotAcceptable", f"only the following media types are accepted: {JSON};stream=watch")
    options = read_options(request, watch=True)
    resource = resource_of(route.kind)
    selection = compile_selection(resource, options)
    watch = Watch(store, request, resource, route.namespace or None, response_format, selection, options)
    return Stream(watch.run(), JSON, NO_CACHE)


class Watch:
    """One client's watch."""

    def __init__(
        self,
        store: ObjectSource,
        request: Request,
        resource: Resource,
        namespace: str | None,
        response_format: ResponseFormat,
        selection: Selection,
        options: ListOptions,
    ) -> None:
        self._store = store
        self._resource = resource
        self._namespace = namespace
        self._format = response_format
        self._selection = selection
        self._options = options
        self._include = request.parameter("includeObject") or DEFAULT_INCLUDE
        self._cache_key = (resource.kind.api_version, response_format.shape, response_format.version, self._include)
        self._type = {"apiVersion": resource.kind.api_version, "kind": resource.kind.kind}
        self._columns_sent = False
        self._since = read_watch_revision(options.revision)
        self._sent_revision = self._since or store.revision

    async def run(self) -> AsyncIterator[bytes]:
        """Yield chunks until the watch times out or fails; the subscription starts with the iteration."""
        subscription: Subscription | None = None
        try:
            if self._options.initial_events:
                async for chunk in self._list_present():
                    yield chunk
                    del chunk
            since = self._sent_revision
            while subscription is None:
                missed, subscription = self._store.watch(self._resource.name, self._namespace, since)
                since = missed[-1].revision if missed else since
                chunk = self._render_events(missed)
                del missed  # free the events now, because the client may take a long time to read the chunk
                if chunk:
                    yield chunk
                    await asyncio.sleep(0)
            del chunk
            async for chunk in self._follow(subscription):
                yield chunk
                del chunk
        except CompactedError as error:
            yield self._error(expired_revision_error(error))
        except FutureError as error:
            yield self._error(replaced_store_error(error))
        except StatusError as error:
            yield self._error(error)
        finally:
            if subscription is not None:
                subscription.close()

    async def _list_present(self) -> AsyncIterator[bytes]:
        """Yield ADDED events for the existing objects; only the batch that is being sent is in memory."""
        require_revision_reached(self._store, self._since)
        revision, batches = self._store.list_in_batches(self._resource.name, self._namespace)
        for batch in batches:
            chunk = self._render_records(batch)
            del batch
            if chunk:
                yield chunk
                del chunk
            await asyncio.sleep(0)
        self._sent_revision = revision
        if self._options.bookmarks:
            yield self._bookmark(revision, initial_end=True)

    def _render_records(self, records: Sequence[Record]) -> bytes:
        selection = self._selection
        return b"".join(
            self._line("ADDED", record.value)
            for record in records
            if selection.may_match(record.key) and selection.matches(record.value)
        )

    async def _follow(self, subscription: Subscription) -> AsyncIterator[bytes]:
        """Yield events as they happen."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._options.timeout_seconds
        bookmark_at = self._next_bookmark(loop.time(), deadline)
        while (now := loop.time()) < deadline:
            events = await subscription.next(min(bookmark_at, deadline) - now)
            reached = self._store.revision  # all changes up to this revision were sent or are in `events`
            if subscription.overrun:
                yield self._error(StatusError(410, "Expired", "the watch fell too far behind: list and watch again"))
                return
            chunks = self._render_batches(events)
            del events  # release the events, so that they do not stay in memory while the watch waits
            while chunk := next(chunks, b""):
                yield chunk
            if loop.time() >= bookmark_at:
                if self._options.bookmarks and reached > self._sent_revision:
                    yield self._bookmark(reached)
                bookmark_at = self._next_bookmark(loop.time(), deadline)

    def _next_bookmark(self, now: float, deadline: float) -> float:
        if not self._options.bookmarks:
            return deadline
        last = deadline - LAST_BOOKMARK_SECONDS
        return min(now + BOOKMARK_SECONDS, last) if now < last else deadline

    def _render_batches(self, events: Sequence[Event]) -> Iterator[bytes]:
        """Yield the lines of the events that this watch selects, in chunks of limited size."""
        return (chunk for part in _divide(events) if (chunk := self._render_events(part)))

    def _render_events(self, events: Sequence[Event]) -> bytes:
        """Return the lines of the events that this watch selects."""
        lines = []
        for event in events:
            if self._selection.may_match(event.key):
                line = self._select_event(event) if self._selection.needs_value else self._shared_line(event)
                if line is not None:
                    lines.append(line)
                    self._sent_revision = event.revision
        return b"".join(lines)

    def _select_event(self, event: Event) -> bytes | None:
        """Return the line for an event, or None if the object matches neither before nor after the change."""
        was = self._previous(event)
        did_match = was is not None and self._selection.matches(was)
        does_match = event.type != "DELETED" and self._selection.matches(event.value)
        if does_match and did_match == (event.type == "MODIFIED"):
            return self._shared_line(event)
        if does_match:
            return self._line("ADDED", event.value)
        if not did_match:
            return None
        if was is None or event.type == "DELETED":
            return self._shared_line(event)
        return self._line("DELETED", with_revision(was, event.previous, event.revision))

    def _previous(self, event: Event) -> bytes | None:
        if not event.previous:
            return None
        if "previous" not in event.notes:
            value = self._store.get_revision(event.previous)
            if value is None:  # the previous version was compacted: the client is too far behind
                raise CompactedError(event.previous, event.revision)
            event.notes["previous"] = value
        previous: bytes = event.notes["previous"]
        return previous

    def _shared_line(self, event: Event) -> bytes:
        if self._format.shape == "table" and not self._columns_sent:
            return self._line(event.type, event.value)
        line: bytes | None = event.notes.get(self._cache_key)
        if line is None:
            line = event.notes[self._cache_key] = self._line(event.type, event.value)
        return line

    def _line(self, kind: str, value: bytes) -> bytes:
        value = self._resource.convert(value)
        if self._format.shape == "partial":
            value = partial_object(value, self._format.version)
        elif self._format.shape == "table":
            columns = not self._columns_sent
            self._columns_sent = True
            value = render_table(self._resource.kind, [value], "", self._format.version, self._include, columns=columns)
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), value)

    def _bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        self._sent_revision = revision
        metadata: dict[str, object] = {"resourceVersion": str(revision)}
        if initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        return self._line("BOOKMARK", msgspec.json.encode({**self._type, "metadata": metadata}))

    def _error(self, error: StatusError) -> bytes:
        return b'{"type":"ERROR","object":%b}\n' % encode(error.status)


def _divide(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Split events into batches of limited size, usually into one batch."""
    start = size = 0
    for index, event in enumerate(events):
        size += len(event.value)
        if size > CHUNK_BYTES:
            yield events[start : index + 1]
            start, size = index + 1, 0
    if start < len(events):
        yield events[start:] if start else events
