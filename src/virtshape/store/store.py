"""
The object store: synchronous reads, writes that return when they are durable, and watches from past revisions.

A store belongs to one event loop. Only commits, maintenance and the reads of snapshots run in other threads.
"""

import asyncio
import contextlib
import functools
import json
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from virtshape.store.cache import Cache
from virtshape.store.compaction import (
    DEFAULT_WINDOW_BYTES,
    HistorySize,
    find_last_revision,
    read_oldest,
    require_not_compacted,
)
from virtshape.store.database import (
    backup,
    check_integrity,
    last_revision,
    measure_history,
    open_for_reading,
    open_for_writing,
    unusable_file_error,
)
from virtshape.store.errors import CompactedError, FutureError, StoreError
from virtshape.store.health import DiskError, StoreHealth
from virtshape.store.record import Event, Key, Page, Record
from virtshape.store.snapshot import Snapshot, open_snapshot
from virtshape.store.watch import Broadcaster, Subscription
from virtshape.store.writer import Outcome, Write, Writer

FILE_NAME: Final = "virtshape.db"
DEFAULT_WINDOW_SECONDS: Final = 300
DEFAULT_WINDOW_REVISIONS: Final = 10_000
BYTES_AT_ONCE: Final = 1024 * 1024
"""Bytes of objects or changes that are read at a time for a watch, so that slow clients need little memory."""
_REVISIONS_AT_ONCE: Final = 1000

P = ParamSpec("P")
R = TypeVar("R")


def _reads(method: "Callable[Concatenate[Store, P], R]") -> "Callable[Concatenate[Store, P], R]":
    """Decorate a method that reads the file: it records a failure in the store's health, and raises StoreError."""

    @functools.wraps(method)
    def read(store: "Store", /, *arguments: P.args, **options: P.kwargs) -> R:
        try:
            return method(store, *arguments, **options)
        except sqlite3.Error as error:
            raise store.fail_read(error, lambda: read(store, *arguments, **options)) from error

    return read


class Store:
    """The objects of one data directory."""

    def __init__(
        self,
        directory: Path,
        *,
        window_seconds: float = DEFAULT_WINDOW_SECONDS,
        window_revisions: int = DEFAULT_WINDOW_REVISIONS,
        window_bytes: int = DEFAULT_WINDOW_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        path = self.path = directory / FILE_NAME
        self._connection = open_for_writing(path)
        self._health = StoreHealth(directory)
        try:
            self._reader = open_for_reading(path)
            self.revision = last_revision(self._reader)
            kept = measure_history(self._reader) if path.stat().st_size > window_bytes else 0
            self._writer = Writer(self._connection, self._health, clock)
        except sqlite3.Error as error:
            self._connection.close()
            raise unusable_file_error(path, error) from error
        self.counters = self._writer.counters
        self._loop = asyncio.get_running_loop()
        self._broadcaster = Broadcaster()
        self._cache = Cache()
        self._seen = 0  # highest revision that was read; while it is higher than `revision`, reads do not use the cache
        self._observers: list[Callable[[Event], None]] = []
        self._window_seconds = window_seconds
        self._window_revisions = window_revisions
        self._clock = clock
        self._history = HistorySize(window_bytes, self.revision, kept)
        self._surplus = 0  # drop history up to this revision to stay below the size limit
        self._has_surplus = asyncio.Event()

    def get(self, key: Key) -> Record | None:
        """Return the object at a key, or None."""
        is_current = self.revision >= self._seen
        if is_current and (known := self._cache.get(key)) is not None:
            return known
        record = self._read_current(key)
        if record is None:
            # A deletion may be committed that the event loop has not processed: no later read may be older than it.
            self._note_seen(self._read_last_revision())
            return None
        self._note_seen(record.revision)
        if is_current and record.revision <= self.revision:
            self._cache.put(record)
        return record

    @_reads
    def _read_current(self, key: Key) -> Record | None:
        row = self._reader.execute(
            "SELECT c.revision, l.value FROM current c JOIN log l ON l.revision = c.revision "
            "WHERE c.resource = ? AND c.namespace = ? AND c.name = ?",
            (key.resource, key.namespace, key.name),
        ).fetchone()
        return Record(key, *row) if row else None

    @_reads
    def _read_last_revision(self) -> int:
        return last_revision(self._reader)

    @_reads
    def list(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        after: Key | None = None,
        limit: int = -1,
        at: int | None = None,
    ) -> Page:
        """Return a page of objects in key order, at the current or an earlier revision, if it is not compacted."""
        with open_snapshot(self._reader) as snapshot:
            self._note_seen(snapshot.revision)
            return snapshot.list(resource, namespace, after=after, limit=limit, at=at)

    @_reads
    def has_more_than(self, count: int, resource: str, namespace: str | None = None) -> bool:
        """Return True if more than `count` objects exist; do not read the objects."""
        where = "resource = ?" if namespace is None else "resource = ? AND namespace = ?"
        scope = (resource,) if namespace is None else (resource, namespace)
        query = f"SELECT 1 FROM current WHERE {where} LIMIT 1 OFFSET ?"
        return self._reader.execute(query, (*scope, count)).fetchone() is not None

    def read_snapshot(self, read: Callable[[Snapshot], R]) -> R:
        """
        Call `read` with a snapshot of the current state, over a separate connection; for large reads in other threads.

        Raise StoreError on failure.
        """
        try:
            with contextlib.closing(open_for_reading(self.path)) as connection, open_snapshot(connection) as snapshot:
                # Runs before the callbacks that the thread schedules later, that is, before a client sees the result.
                self._loop.call_soon_threadsafe(self._note_seen, snapshot.revision)
                return read(snapshot)
        except sqlite3.Error as error:
            self._loop.call_soon_threadsafe(self.fail_read, error, functools.partial(self.read_snapshot, read))
            raise _read_error(error) from error

    def _note_seen(self, revision: int) -> None:
        self._seen = max(self._seen, revision)

    @_reads
    def list_in_batches(self, resource: str, namespace: str | None = None) -> tuple[int, Iterator[Sequence[Record]]]:
        """
        Return the current revision and its objects in key order, in batches of limited size.

        A batch is read when the iterator reaches it. CompactedError is raised if one of its objects has been compacted.
        """
        with open_snapshot(self._reader) as snapshot:
            self._note_seen(snapshot.revision)
            revisions = array("q", snapshot.list_revisions(resource, namespace))
            return snapshot.revision, self._read_batches(resource, revisions)

    def _read_batches(self, resource: str, revisions: "array[int]") -> Iterator[Sequence[Record]]:
        at = 0
        while at < len(revisions):
            batch = [self._read_revisions(resource, revisions[at : at + _REVISIONS_AT_ONCE].tolist())]
            at += len(batch[0])
            yield batch.pop()  # release the batch, because the consumer may pause for a long time

    @_reads
    def _read_revisions(self, resource: str, revisions: Sequence[int]) -> Sequence[Record]:
        """Return the objects that these revisions wrote, in the same order; stop when they exceed the size limit."""
        rows = self._reader.execute(
            "SELECT j.value, l.namespace, l.name, l.value FROM json_each(?) j LEFT JOIN log l ON l.revision = j.value",
            (json.dumps(revisions),),
        )
        part, size = [], 0
        for revision, namespace, name, value in rows:
            if value is None:
                raise CompactedError(revision, self.oldest)
            part.append(Record(Key(resource, namespace, name), revision, value))
            size += len(value)
            if size > BYTES_AT_ONCE:
                break
        return part

    @_reads
    def get_revision(self, revision: int) -> bytes | None:
        """Return the bytes that a revision wrote; None if the revision was compacted."""
        row = self._reader.execute("SELECT value FROM log WHERE revision = ?", (revision,)).fetchone()
        return row[0] if row else None

    async def write(self, write: Write) -> Event:
        """Write one object durably; raise StaleError if its revision is not the expected one, StoreError on failure."""
        (outcome,) = await self.write_all([write])
        if isinstance(outcome, StoreError):
            raise outcome
        return outcome

    async def write_all(self, writes: Sequence[Write]) -> Sequence[Outcome]:
        """Write objects in one commit; return an event or an error for each."""
        done: asyncio.Future[Sequence[Outcome]] = self._loop.create_future()
        self._writer.submit(writes, lambda outcomes: self._finish(done, outcomes))
        return await done

    def _finish(self, done: "asyncio.Future[Sequence[Outcome]]", outcomes: Sequence[Outcome]) -> None:
        events = [outcome for outcome in outcomes if isinstance(outcome, Event)]
        if events:
            self.revision = events[-1].revision
            self._remember(events)
            self._limit_history(events)
            for observe in self._observers:
                for event in events:
                    observe(event)
            self._broadcaster.publish(events)
        if not done.done():
            done.set_result(outcomes)

    def _remember(self, events: Sequence[Event]) -> None:
        for event in events:
            if event.type == "DELETED":
                self._cache.drop(event.key)
            else:
                self._cache.put(Record(event.key, event.revision, event.value))

    def _limit_history(self, events: Sequence[Event]) -> None:
        """Add the size of the changes to that of the history, and signal if the history is too large."""
        for event in events:
            if event.previous:
                self._history.add(event.revision, len(event.value))
        if surplus := self._history.take_surplus():
            self._surplus = surplus
            self._has_surplus.set()

    def observe(self, observer: Callable[[Event], None]) -> None:
        """Register a function that is called with every change, before watches receive it and the write returns."""
        self._observers.append(observer)

    @_reads
    def _read_log(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], bool]:
        """Return about 1 MiB of the changes after a revision, and whether these are all."""
        rows = self._reader.execute(
            "SELECT type, namespace, name, revision, value, previous FROM log "
            "WHERE revision > ? AND resource = ? AND (? OR namespace = ?) ORDER BY revision",
            (since, resource, namespace is None, namespace or ""),
        )
        changes, size = [], 0
        for kind, ns, name, rv, value, prev in rows:
            changes.append(Event(kind, Key(resource, ns, name), rv, value, prev, {}))
            size += len(value)
            if size > BYTES_AT_ONCE:
                return changes, False
        return changes, True

    def watch(self, resource: str, namespace: str | None, since: int) -> tuple[Sequence[Event], Subscription | None]:
        """
        Return the changes after a revision that is not compacted, and a subscription to all later changes.

        At most about 1 MiB of changes is returned. If there are more, the subscription is None: watch again from the
        last revision returned.
        """
        self._require_kept(since, self.newest)
        changes, are_all = self._read_log(resource, namespace, since)
        last = changes[-1].revision if changes else since
        self._note_seen(last)
        if not are_all:
            return changes, None
        subscription = self._broadcaster.subscribe(resource, namespace)
        subscription.seen = last
        return changes, subscription

    def _require_kept(self, asked: int, current: int) -> None:
        if asked > current:
            raise FutureError(asked, current)
        require_not_compacted(self._reader, asked)

    @property
    def newest(self) -> int:
        """The highest revision that a client can have read; the event loop may not have processed it yet."""
        return max(self.revision, self._seen)

    @property
    def oldest(self) -> int:
        """The revision since which the history is complete."""
        return read_oldest(self._reader)

    def fail_read(self, error: sqlite3.Error, read: Callable[[], object]) -> StoreError:
        """Record a failed read, which `probe` repeats; return the error to raise."""
        self._health.note_failed_read(DiskError(error), read)
        return _read_error(error)

    async def compact_forever(self, seconds: float) -> None:
        """Compact at this interval, and immediately when the history is too large, until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._has_surplus.wait()
            await self.compact()

    async def compact(self, before: int | None = None) -> None:
        """Remove history that exceeds the limits of the window, or all history before a revision."""
        if before is None:
            expired = find_last_revision(self._reader, int(self._clock() - self._window_seconds))
            before = max(min(expired, self.revision - self._window_revisions), self._surplus)
        if before > self.oldest:
            await self._writer.compact(before)
        if before >= self._surplus:
            self._has_surplus.clear()

    @property
    def failure(self) -> str:
        """Why writes or reads currently fail; empty if they succeed."""
        return self._health.failure

    async def probe(self, idle_seconds: float) -> None:
        """
        Repeat a failed read, and write a test value if writes fail or none succeeded for `idle_seconds`.

        Raise StoreError on failure.
        """
        self._health.repeat_failed_read()
        if self.failure or time.monotonic() - self._health.written_at >= idle_seconds:
            await self._writer.probe()

    def backup(self, target: Path) -> None:
        """Copy the current state of the store into a new file."""
        backup(self._reader, target)

    async def close(self) -> None:
        """Finish pending writes and close the file."""
        await self._writer.close()
        self._reader.close()
        self._connection.close()  # closed last: only the writing connection can checkpoint the WAL


def _read_error(error: sqlite3.Error) -> StoreError:
    return StoreError(f"reading from the database failed: {error}")


def check_file(path: Path) -> list[str]:
    """Return descriptions of all problems in a database file; empty if there are none."""
    try:
        connection = open_for_reading(path)
        try:
            return check_integrity(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        return [f"not a readable database: {error}"]
