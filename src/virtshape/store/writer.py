"""
The one thread that writes: takes all waiting writes, commits them together, and only then says so.

A write that finds its object at another revision than it expects changes nothing and fails alone.
"""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from virtshape.store.database import last_revision
from virtshape.store.errors import StaleError, StoreError
from virtshape.store.record import Event, EventType, Key

MOST_WRITES_A_COMMIT: Final = 512
ROWS_A_COMPACTION: Final = 2000


class Write(Struct):
    """One change to make to an object at `expected` (0: to none); the revision goes between head and tail."""

    key: Key
    expected: int
    head: bytes
    tail: bytes
    removes: bool = False

    @property
    def type(self) -> EventType:
        """What watchers are told."""
        if self.removes:
            return "DELETED"
        return "MODIFIED" if self.expected else "ADDED"


Outcome = Event | StoreError
Report = Callable[[Sequence[Outcome]], object]


class Writer:
    """Runs in a thread of its own from start to close; reports outcomes there, so a report must hand them over."""

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float] = time.time) -> None:
        self._connection = connection
        self._clock = clock
        self._revision = last_revision(connection)
        self._waiting: queue.SimpleQueue[tuple[Sequence[Write], Report] | Callable[[], None] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, writes: Sequence[Write], report: Report) -> None:
        """Have the writes made, all in one commit; the report gets an outcome for each."""
        self._waiting.put((writes, report))

    def compact(self, before: int, report: Callable[[], object]) -> None:
        """Have history before a revision forgotten, a bit at a time between other writes."""
        self._waiting.put(lambda: self._compact(before, report))

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._waiting.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            jobs = [self._waiting.get()]
            while len(jobs) < MOST_WRITES_A_COMMIT and not self._waiting.empty():
                jobs.append(self._waiting.get())
            writes = [job for job in jobs if isinstance(job, tuple)]
            if writes:
                self._commit(writes)
            for job in jobs:
                if callable(job):
                    job()
            if None in jobs:
                return

    def _commit(self, batch: list[tuple[Sequence[Write], Report]]) -> None:
        connection, before, now = self._connection, self._revision, int(self._clock())
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [[self._write(write, now) for write in writes] for writes, _ in batch]
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._revision = before
            failure = StoreError(f"the database could not be written: {error}")
            outcomes = [[failure for _ in writes] for writes, _ in batch]
        for (_, report), outcome in zip(batch, outcomes, strict=True):
            report(outcome)

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

    def _compact(self, before: int, report: Callable[[], object]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        gone = 0
        for forgotten in ("until <= ?", "type = 'DELETED' AND revision <= ?"):
            rows = f"SELECT revision FROM log WHERE {forgotten} LIMIT {ROWS_A_COMPACTION}"
            gone += connection.execute(f"DELETE FROM log WHERE revision IN ({rows})", (before,)).rowcount
        connection.execute("UPDATE meta SET number = max(number, ?) WHERE name = 'compacted'", (before,))
        connection.execute("COMMIT")
        if gone >= ROWS_A_COMPACTION:
            self.compact(before, report)
        else:
            report()
