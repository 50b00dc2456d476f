"""The store: durable and ordered writes, compare-and-swap, and watches without gaps."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.faults import BACKOFF

from virtshape.store.errors import CompactedError, FutureError, StaleError
from virtshape.store.record import Event, Key
from virtshape.store.store import FILE_NAME, Store, check_file
from virtshape.store.watch import Subscription
from virtshape.store.writer import Write
from virtshape.supervise.supervisor import Supervisor
from virtshape.supervise.tasks import COMPACTION

VMS = "virtualmachines.kubevirt.io"


def key(name: str, namespace: str = "a", resource: str = VMS) -> Key:
    return Key(resource, namespace, name)


def put(at: Key, expected: int = 0, body: bytes = b"", *, removes: bool = False) -> Write:
    return Write(at, expected, b'{"rv":"', b'","body":"' + body + b'"}', removes)


@asynccontextmanager
async def opened(directory: Path, **options: Any) -> AsyncIterator[Store]:
    store = Store(directory, **options)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def compacting(store: Store) -> AsyncIterator[Supervisor]:
    """Compact history that exceeds the byte limit, as the server does, but without periodic compaction."""
    supervisor = Supervisor(BACKOFF)
    async with supervisor.running(COMPACTION, lambda: store.compact_forever(3600)):
        yield supervisor


async def wait_until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def change_database(directory: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute(statement)


def subscribe(store: Store) -> Subscription:
    """Watch the VMs of all namespaces, starting from revision 0."""
    _, subscription = store.watch(VMS, None, 0)
    assert subscription is not None
    return subscription


def count_revisions(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM log").fetchone()
    return int(count)


async def commit_unprocessed(store: Store, writes: list[Write]) -> asyncio.Task[Any]:
    """Block the event loop until the writes are committed, so that the store has not processed them yet."""
    expected = count_revisions(store.path) + len(writes)
    writing = asyncio.create_task(store.write_all(writes))
    await asyncio.sleep(0)  # the write is queued
    await asyncio.sleep(0)  # the commit starts in its own thread
    deadline = time.monotonic() + 240
    while count_revisions(store.path) < expected:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return writing


def names(events: "list[Event] | tuple[Event, ...] | Any") -> list[tuple[str, str, int]]:
    return [(event.type, event.key.name, event.revision) for event in events]


async def test_stored_object_contains_its_revision(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        event = await store.write(put(key("x"), body=b"hello"))
        record = store.get(key("x"))
        assert record is not None
        assert (record.revision, record.value) == (1, b'{"rv":"1","body":"hello"}')
        assert event.value == record.value
        assert store.get(key("y")) is None


@pytest.mark.parametrize(
    ("expected", "actual"),
    [pytest.param(0, 1, id="create of an existing object"), pytest.param(7, 1, id="old revision")],
)
async def test_write_that_expects_another_revision_changes_nothing(tmp_path: Path, expected: int, actual: int) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x")))
        with pytest.raises(StaleError) as caught:
            await store.write(put(key("x"), expected, b"new"))
        assert (caught.value.expected, caught.value.actual) == (expected, actual)
        assert store.revision == 1
        assert store.list(VMS).records[0].value == b'{"rv":"1","body":""}'


async def test_concurrent_writers_get_separate_revisions(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        events = await asyncio.gather(*(store.write(put(key(f"n{i}"))) for i in range(200)))
        assert sorted(event.revision for event in events) == list(range(1, 201))
        assert len(store.list(VMS).records) == 200


async def test_failed_write_does_not_affect_other_writes_in_the_commit(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        outcomes = await store.write_all([put(key("x")), put(key("x")), put(key("y"))])
        assert [type(outcome) for outcome in outcomes] == [Event, StaleError, Event]
        assert [record.key.name for record in store.list(VMS).records] == ["x", "y"]


async def test_lists_are_sorted_and_pages_are_consistent(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for name in ("c", "a", "b", "d"):
            await store.write(put(key(name)))
        await store.write(put(key("z", "other")))
        first = store.list(VMS, "a", limit=2)
        assert ([r.key.name for r in first.records], first.remaining, first.revision) == (["a", "b"], 2, 5)
        await store.write(put(key("a"), 2, removes=True))
        await store.write(put(key("c"), 1, b"changed"))
        await store.write(put(key("bb")))
        rest = store.list(VMS, "a", after=first.records[-1].key, limit=2, at=first.revision)
        assert [(r.key.name, r.revision) for r in rest.records] == [("c", 1), ("d", 4)]
        assert rest.remaining == 0
        complete = store.list(VMS, at=5)
        assert [r.key.name for r in complete.records] == ["a", "b", "c", "d", "z"]


async def test_watch_returns_missed_changes_before_new_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x")))
        await store.write(put(key("y")))
        await store.write(put(key("other", "b")))
        missed, watch = store.watch(VMS, "a", 1)
        assert names(missed) == [("ADDED", "y", 2)]
        assert watch is not None
        await store.write(put(key("x"), 1))
        await store.write(put(key("other2", "b")))
        await store.write(put(key("x"), 4, removes=True))
        assert names(await watch.next(1)) == [("MODIFIED", "x", 4), ("DELETED", "x", 6)]
        assert list(await watch.next(0.01)) == []
        watch.close()
        await store.write(put(key("x")))
        assert list(await watch.next(0.01)) == []


async def test_write_event_contains_the_previous_revision_of_the_object(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x"), body=b"old"))
        event = await store.write(put(key("x"), 1, b"new"))
        assert store.get_revision(event.previous) == b'{"rv":"1","body":"old"}'


async def test_compaction_removes_history_and_keeps_objects(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("stays")))
        await store.write(put(key("x")))
        await store.write(put(key("x"), 2))
        await store.write(put(key("x"), 3, removes=True))
        await store.compact(before=4)
        await store.write(put(key("y")))
        with pytest.raises(CompactedError):
            store.watch(VMS, None, 3)
        with pytest.raises(CompactedError):
            store.list(VMS, at=2)
        assert names(store.watch(VMS, None, 4)[0]) == [("ADDED", "y", 5)]
        assert [record.key.name for record in store.list(VMS).records] == ["stays", "y"]
        assert store.get_revision(2) is None


async def test_compaction_keeps_recent_history_and_a_minimum_number_of_revisions(tmp_path: Path) -> None:
    now = [1000.0]

    async with opened(tmp_path, window_seconds=300, window_revisions=2, clock=lambda: now[0]) as store:
        await store.write(put(key("x")))
        for revision in range(1, 6):
            await store.write(put(key("x"), revision))
        await store.compact()
        await store.write(put(key("y")))
        assert store.oldest == 0, "all of it is young"
        now[0] = 2000.0
        await store.compact()
        await store.write(put(key("z")))
        assert store.oldest == 5, "two revisions are near"


async def test_watch_can_resume_from_a_revision_that_the_event_loop_has_not_processed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x")))
        writing = await commit_unprocessed(store, [put(key("x"), 1), put(key("x"), 2)])
        missed, first = store.watch(VMS, None, 1)
        assert names(missed) == [("MODIFIED", "x", 2), ("MODIFIED", "x", 3)]
        again, second = store.watch(VMS, None, 3)
        assert not again
        await writing
        await store.write(put(key("x"), 3))
        for subscription in (first, second):
            assert subscription is not None
            assert names(await subscription.next(1)) == [("MODIFIED", "x", 4)]


async def test_read_after_a_deletion_that_the_event_loop_has_not_processed_is_not_older(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write_all([put(key("deleted")), put(key("updated"))])
    async with opened(tmp_path) as store:
        assert store.get(key("updated")) is not None  # cached, unlike the object that is deleted
        writing = await commit_unprocessed(store, [put(key("updated"), 2), put(key("deleted"), 1, removes=True)])
        assert store.get(key("deleted")) is None
        found = store.get(key("updated"))
        assert found is not None
        assert found.revision == 3
        await writing


async def test_watch_returns_a_long_history_in_parts_without_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.store.BYTES_AT_ONCE", 250)

    async with opened(tmp_path) as store:
        for number in range(5):
            await store.write(put(key(f"n{number}"), body=b"x" * 100))
        seen: list[Event] = []
        subscription = None
        parts = 0
        while subscription is None:
            changes, subscription = store.watch(VMS, None, seen[-1].revision if seen else 0)
            seen += changes
            parts += 1
            await store.write(put(key(f"during-part-{parts}"), body=b"x" * 100))
        assert parts > 2
        seen += await subscription.next(1)
        assert [event.revision for event in seen] == list(range(1, 5 + parts + 1))


async def test_all_batches_of_a_list_contain_objects_at_the_same_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.store.BYTES_AT_ONCE", 250)

    async with opened(tmp_path) as store:
        for number in range(5):
            await store.write(put(key(f"n{number}"), body=b"x" * 100))
        await store.write(put(key("elsewhere", "b"), body=b"x" * 100))
        revision, batches = store.list_in_batches(VMS, "a")
        seen = [next(batches)]
        await store.write(put(key("n0"), 1, removes=True))
        await store.write(put(key("n4"), 5))
        await store.write(put(key("n9")))
        seen += batches
        assert revision == 6
        assert [[(record.key.name, record.revision) for record in part] for part in seen] == [
            [("n0", 1), ("n1", 2), ("n2", 3)],
            [("n3", 4), ("n4", 5)],
        ]
        assert sum(map(len, store.list_in_batches(VMS)[1])) == 6


async def test_list_in_batches_fails_if_its_history_is_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.store.BYTES_AT_ONCE", 50)

    async with opened(tmp_path) as store:
        for number in range(2):
            await store.write(put(key(f"n{number}"), body=b"x" * 100))
        _, batches = store.list_in_batches(VMS)
        next(batches)
        await store.write(put(key("n1"), 2))
        await store.compact(before=3)
        with pytest.raises(CompactedError):
            next(batches)


async def test_list_and_watch_at_a_future_revision_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(FutureError):
            store.list(VMS, at=9)
        with pytest.raises(FutureError):
            store.watch(VMS, None, 9)


async def test_revisions_continue_after_reopening_a_compacted_store(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x")))
        await store.write(put(key("x"), 1, removes=True))
        await store.compact(before=2)
    async with opened(tmp_path) as store:
        assert (await store.write(put(key("y")))).revision == 3


async def test_backup_of_a_running_store_is_complete(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("x")))
        store.backup(tmp_path / "copy.db")
        await store.write(put(key("y")))
    assert check_file(tmp_path / "copy.db") == []
    (tmp_path / "restored").mkdir()
    (tmp_path / "copy.db").rename(tmp_path / "restored" / FILE_NAME)
    async with opened(tmp_path / "restored") as store:
        assert [record.key.name for record in store.list(VMS).records] == ["x"]


async def test_watcher_with_too_many_pending_bytes_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("virtshape.store.watch.MAX_PENDING_BYTES", 250)

    async with opened(tmp_path) as store:
        slow = subscribe(store)
        for number in range(5):
            await store.write(put(key(f"n{number}"), body=b"x" * 100))
        assert slow.overrun
        assert list(await slow.next(0)) == []


async def test_history_is_limited_in_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path, window_bytes=10_000) as store, compacting(store):
        await store.write(put(key("x")))
        for revision in range(1, 51):
            await store.write(put(key("x"), revision, b"x" * 1000))
        await wait_until(lambda: 40 <= store.oldest <= 45)
    async with opened(tmp_path, window_bytes=5_000) as store, compacting(store):
        await store.write(put(key("x"), 51, b"x" * 1000))
        await store.write(put(key("x"), 52, b"x" * 1000))
        await wait_until(
            lambda: store.oldest == 51
        )  # history written before the store was reopened counts toward the limit


async def test_failed_compaction_of_large_history_is_reported_and_retried(tmp_path: Path) -> None:
    async with opened(tmp_path, window_bytes=10_000) as store, compacting(store) as supervisor:
        change_database(
            tmp_path, "CREATE TRIGGER broken BEFORE DELETE ON log BEGIN SELECT RAISE(FAIL, 'log is broken'); END"
        )
        await store.write(put(key("x")))
        for revision in range(1, 21):
            await store.write(put(key("x"), revision, b"x" * 1000))
        await wait_until(lambda: "log is broken" in supervisor.list_checks()["compaction"].failure)
        assert store.oldest == 0
        change_database(tmp_path, "DROP TRIGGER broken")
        await wait_until(lambda: supervisor.list_checks()["compaction"].passed)
        assert store.oldest >= 10


async def test_only_slow_watchers_are_disconnected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("virtshape.store.watch.MAX_PENDING", 3)

    async with opened(tmp_path) as store:
        slow = subscribe(store)
        brisk = subscribe(store)
        seen: list[Event] = []
        for number in range(5):
            await store.write(put(key(f"n{number}")))
            seen += await brisk.next(1)
        assert len(seen) == 5
        assert slow.overrun
        assert not brisk.overrun


async def test_acknowledged_writes_survive_sigkill(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from virtshape.store.record import Key
        from virtshape.store.store import Store
        from virtshape.store.writer import Write

        async def main():
            store = Store(Path(sys.argv[1]))
            for number in range(100000):
                await store.write(Write(Key("r", "", f"n{number}"), 0, b"", b""))
                print(number, flush=True)

        asyncio.run(main())
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(50)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    process.wait()
    process.stdout.close()

    async with opened(tmp_path) as store:
        stored = {record.key.name for record in store.list("r").records}
        assert {f"n{number}" for number in acknowledged} <= stored
    assert check_file(tmp_path / FILE_NAME) == []
