"""The writer: batches, isolated failures, and a full disk."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from virtshape.store.database import open_for_writing
from virtshape.store.errors import StoreError
from virtshape.store.health import StoreHealth
from virtshape.store.record import Event, Key
from virtshape.store.writer import Outcome, Write, Writer


def write(name: str, size: int = 10) -> Write:
    return Write(Key("r", "", name), 0, b"", b"x" * size)


async def make(writer: Writer, writes: Sequence[Write]) -> Sequence[Outcome]:
    done: asyncio.Future[Sequence[Outcome]] = asyncio.get_running_loop().create_future()
    writer.submit(writes, done.set_result)
    return await done


async def test_write_fails_on_a_full_disk_and_a_later_smaller_write_succeeds(tmp_path: Path) -> None:
    connection = open_for_writing(tmp_path / "x.db")
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 4}")
    writer = Writer(connection, StoreHealth(tmp_path))
    (first,) = await make(writer, [write("small")])
    (refused,) = await make(writer, [write("large", 1_000_000)])
    (second,) = await make(writer, [write("small-too")])
    assert isinstance(first, Event)
    assert isinstance(refused, StoreError)
    assert "writing to the database failed" in str(refused)
    assert isinstance(second, Event)
    assert second.revision == first.revision + 1, "a revision that was never committed is not skipped"
    await writer.close()
    connection.close()


async def test_waiting_writes_are_committed_together(tmp_path: Path) -> None:
    connection = open_for_writing(tmp_path / "x.db")
    commits: list[str] = []
    are_waiting = threading.Event()

    def trace(statement: str) -> None:
        if statement == "COMMIT":
            are_waiting.wait(240)
            commits.append(statement)

    connection.set_trace_callback(trace)
    writer = Writer(connection, StoreHealth(tmp_path))
    promises = [asyncio.create_task(make(writer, [write(f"n{number}")])) for number in range(50)]
    await asyncio.sleep(0)
    are_waiting.set()
    outcomes = await asyncio.gather(*promises)
    assert all(isinstance(outcome, Event) for (outcome,) in outcomes)
    assert len(commits) <= 2
    await writer.close()
    connection.close()


async def test_closing_the_writer_finishes_waiting_writes(tmp_path: Path) -> None:
    connection = open_for_writing(tmp_path / "x.db")
    writer = Writer(connection, StoreHealth(tmp_path))
    promises = [asyncio.ensure_future(make(writer, [write(f"n{number}")])) for number in range(20)]
    await asyncio.sleep(0)
    await writer.close()
    outcomes = await asyncio.gather(*promises)
    assert all(isinstance(outcome, Event) for (outcome,) in outcomes)
    connection.close()
