"""
The writer: commits all waiting writes together and reports their outcomes after the commit.

Statements run on the event loop, where they take microseconds. The commit waits for the disk in a thread; writes that
arrive during a commit join the next commit. A write that finds an unexpected revision changes nothing and fails alone.
"""

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from virtshape.store.compaction import compact_batch
from virtshape.store.database import last_revision
from virtshape.store.errors import StaleError, StoreError
from virtshape.store.health import DiskError, StoreHealth
from virtshape.store.record import Event, EventType, Key
from virtshape.telemetry.histogram import Histogram

MAX_WRITES_PER_COMMIT: Final = 256

Outcome = Event | StoreError
Job = Callable[[], None]


class Write(Struct):
    """A change to an object at revision `expected` (0 if new); the stored bytes are `head`, revision and `tail`."""

    key: Key
    expected: int
    head: bytes
    tail: bytes
    removes: bool = False

    @property
    def type(self) -> EventType:
        """The type of the watch event."""
        if self.removes:
            return "DELETED"
        return "MODIFIED" if self.expected else "ADDED"


class _Batch(Struct):
    writes: Sequence[Write]
    report: Callable[[Sequence[Outcome]], None]


class WriteCounters:
    """Durations of commits, and numbers of writes that were stored, conflicted with another write, or failed."""

    def __init__(self) -> None:
        self.commits = Histogram()
        self.outcomes = {"stored": 0, "conflict": 0, "failed": 0}

    def add(self, seconds: float, batches: Sequence[Sequence[Outcome]]) -> None:
        """Count a commit and the outcomes of its writes."""
        self.commits.add(seconds)
        for outcomes in batches:
            for outcome in outcomes:
                is_conflict = isinstance(outcome, StaleError)
                self.outcomes["stored" if isinstance(outcome, Event) else "conflict" if is_conflict else "failed"] += 1


class Writer:
    """Commits writes and reports their outcomes on the event loop that it belongs to."""

    def __init__(
        self, connection: sqlite3.Connection, health: StoreHealth, clock: Callable[[], float] = time.time
    ) -> None:
        self._connection = connection
        self._health = health
        self._clock = clock
        self.counters = WriteCounters()
        self._loop = asyncio.get_running_loop()
        self._revision = last_revision(connection)
        self._waiting: list[_Batch] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._maintenance: list[tuple[Job, asyncio.Future[None]]] = []
        self._jobs: queue.SimpleQueue[tuple[Job, Callable[[Exception | None], None]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="store-commit", daemon=True)
        self._thread.start()

    def submit(self, writes: Sequence[Write], report: Callable[[Sequence[Outcome]], None]) -> None:
        """Queue writes for one commit; `report` gets an outcome for each."""
        self._waiting.append(_Batch(writes, report))
        self._wake()

    async def compact(self, before: int) -> None:
        """Remove history before a revision, in steps between other writes."""
        more = True
        while more:
            found: list[bool] = []
            # The lambda may use the loop variable, because each job has run before the next one is created.
            await self._do(lambda: found.append(compact_batch(self._connection, before)))  # noqa: B023
            more = found[0]

    async def probe(self) -> None:
        """Write a value that nothing reads; raise StoreError if that fails."""
        await self._do(self._touch)

    async def _do(self, job: Job) -> None:
        """Run a job in the thread between two commits."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._maintenance.append((job, done))
        self._wake()
        await done

    async def close(self) -> None:
        """Finish waiting writes and stop; the caller closes the connection."""
        while not self._idle.is_set():
            await self._idle.wait()
        self._jobs.put(None)
        self._thread.join()

    def _wake(self) -> None:
        if self._idle.is_set():
            self._idle.clear()
            # Deferred, so that other writes in this iteration of the event loop join the commit.
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        if self._maintenance:
            job, done = self._maintenance.pop(0)
            self._jobs.put((job, lambda error: self._finish_maintenance(done, error)))
        elif self._waiting:
            self._begin_commit()
        else:
            self._idle.set()

    def _begin_commit(self) -> None:
        batches, count = [], 0
        while self._waiting and count < MAX_WRITES_PER_COMMIT:
            batches.append(self._waiting.pop(0))
            count += len(batches[-1].writes)
        before, now, began = self._revision, int(self._clock()), time.perf_counter()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            outcomes = [[self._write(write, now) for write in batch.writes] for batch in batches]
        except sqlite3.Error as error:
            self._finish_commit(batches, [], before, began, error)
            return
        self._jobs.put((self._commit, lambda error: self._finish_commit(batches, outcomes, before, began, error)))

    def _commit(self) -> None:
        self._connection.execute("COMMIT")

    def _finish_commit(
        self,
        batches: list[_Batch],
        outcomes: list[list[Outcome]],
        before: int,
        began: float,
        error: Exception | None,
    ) -> None:
        if error is not None:
            self._revision = before
            failure = self._fail(error)
            outcomes = [[failure for _ in batch.writes] for batch in batches]
        elif self._revision != before:
            self._health.note_success()
        self.counters.add(time.perf_counter() - began, outcomes)
        self._next()
        for batch, outcome in zip(batches, outcomes, strict=True):
            batch.report(outcome)

    def _finish_maintenance(self, done: "asyncio.Future[None]", error: Exception | None) -> None:
        failure = self._fail(error) if error is not None else None
        if failure is None:
            self._health.note_success()
        self._next()
        if done.done():  # the caller was cancelled
            return
        if failure is not None:
            done.set_exception(failure)
        else:
            done.set_result(None)

    def _fail(self, error: Exception) -> StoreError:
        """Roll back the transaction of a failed write; return the error to report."""
        failure = error if isinstance(error, DiskError) else DiskError(error)
        self._health.note_failure(failure)
        # After an error, SQLite has rolled back already, or does so with the next statement.
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return StoreError(f"writing to the database failed: {failure}")

    def _work(self) -> None:
        """Run jobs that wait for the disk one at a time, and report each to the event loop."""
        while (job := self._jobs.get()) is not None:
            error: Exception | None = None
            try:
                job[0]()
            except Exception as raised:  # noqa: BLE001 - reported to the caller; the thread must continue
                error = self._health.find_cause(raised)
            self._loop.call_soon_threadsafe(job[1], error)

    def _write(self, write: Write, now: int) -> Outcome:
        execute = self._connection.execute
        key = write.key
        at = (key.resource, key.namespace, key.name)
        row = execute("SELECT revision FROM current WHERE resource = ? AND namespace = ? AND name = ?", at).fetchone()
        actual = row[0] if row else 0
        if actual != write.expected:
            return StaleError(write.expected, actual)
        self._revision = revision = self._revision + 1
        value = b"%b%d%b" % (write.head, revision, write.tail)
        execute(
            "INSERT INTO log (revision, type, resource, namespace, name, previous, at, value) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (revision, write.type, *at, actual, now, value),
        )
        if actual:
            execute("UPDATE log SET until = ? WHERE revision = ?", (revision, actual))
        if write.removes:
            execute("DELETE FROM current WHERE resource = ? AND namespace = ? AND name = ?", at)
        else:
            execute("INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?)", (*at, revision))
        return Event(write.type, key, revision, value, actual, {})

    def _touch(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        # Write a different value each time, because SQLite does not write unchanged pages.
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('probed', ?)", (time.time_ns(),))
        self._connection.execute("COMMIT")
