"""Snapshots: consistent lists from one read transaction, on the event loop and in other threads."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest
from tests.unit.store.test_store import VMS, key, opened, put

from virtshape.store import store as module
from virtshape.store.errors import CompactedError, FutureError, StoreError
from virtshape.store.record import Key
from virtshape.store.snapshot import Snapshot


async def test_writes_and_compaction_do_not_change_an_open_snapshot(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("a")))
        await store.write(put(key("b")))
        is_open, is_changed = threading.Event(), threading.Event()

        def read(snapshot: Snapshot) -> list[tuple[str, int]]:
            is_open.set()
            assert is_changed.wait(240)
            pages = [snapshot.list(VMS, limit=1), snapshot.list(VMS, after=key("a"), limit=1, at=2)]
            return [(record.key.name, record.revision) for page in pages for record in page.records]

        reading = asyncio.create_task(asyncio.to_thread(store.read_snapshot, read))
        assert await asyncio.to_thread(is_open.wait, 240)
        await store.write(put(key("a"), 1, removes=True))
        await store.write(put(key("b"), 2))
        await store.compact(before=4)
        is_changed.set()
        assert await reading == [("a", 1), ("b", 2)]


async def test_snapshot_refuses_compacted_and_future_revisions(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for revision in range(3):
            await store.write(put(key("a"), revision))
        await store.compact(before=3)
        with pytest.raises(CompactedError):
            store.read_snapshot(lambda snapshot: snapshot.list(VMS, at=1))
        with pytest.raises(FutureError):
            store.read_snapshot(lambda snapshot: snapshot.list(VMS, at=9))


async def test_no_read_is_older_than_a_snapshot_that_was_read_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.write(put(key("a")))
        assert store.get(key("a")) is not None  # now it is in the cache
        with sqlite3.connect(store.path) as committed:  # as if the event loop had not processed the write yet
            committed.execute("INSERT INTO log SELECT 2, type, resource, namespace, name, 1, NULL, at, 'new' FROM log")
            committed.execute("UPDATE log SET until = 2 WHERE revision = 1")
            committed.execute("UPDATE current SET revision = 2")
        committed.close()
        page = await asyncio.to_thread(store.read_snapshot, lambda snapshot: snapshot.list(VMS))
        after = store.get(key("a"))
        assert after is not None
        assert (page.revision, after.revision) == (2, 2)


async def test_failed_read_of_a_snapshot_is_reported_until_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError(f"unable to open {path.name}")

    async with opened(tmp_path) as store:
        with monkeypatch.context() as patched:
            patched.setattr(module, "open_for_reading", fail)
            with pytest.raises(StoreError, match="reading from the database failed: unable to open"):
                await asyncio.to_thread(store.read_snapshot, lambda snapshot: snapshot.list(VMS))
            assert store.failure.startswith("reading failed: unable to open")
            with pytest.raises(StoreError):
                await store.probe(3600)
        await store.probe(3600)
        assert store.failure == ""


async def test_number_of_objects_is_compared_without_reading_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for at in (key("a"), key("b"), key("c", "other"), Key("pods", "a", "d")):
            await store.write(put(at))
        found = [store.has_more_than(count, VMS, namespace) for namespace in (None, "a") for count in (0, 1, 2, 3)]
        assert found == [True, True, True, False, True, True, False, False]
