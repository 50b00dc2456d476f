"""A store whose WAL was cut off or damaged by a power failure opens with a prefix of its commits, and works."""

import asyncio
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.support.longruns import choose
from tests.support.walrecording import RESOURCE, Commit, Recording, build_write, record

from virtshape.store.record import Event, Key
from virtshape.store.store import FILE_NAME, Store, check_file

COMMITS = choose(short=24, long=120)
DAMAGED_COPIES = choose(short=40, long=500)
SECTOR = 512


@pytest.fixture(scope="module", params=["first generation", "after a restart of the WAL"])
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A store with its WAL and the log of acknowledged commits."""
    restart_at = COMMITS * 2 // 3 if "restart" in request.param else -1
    found = asyncio.run(record(tmp_path_factory.mktemp("recorded") / "data", COMMITS, restart_at=restart_at))
    is_restarted = found.frame_ends[-1] < len(found.wal)
    assert is_restarted == (restart_at > 0), "the WAL has frames of an earlier generation exactly if it was restarted"
    return found


@pytest.fixture
def check(tmp_path: Path, recording: Recording) -> Callable[[bytes], None]:
    """A function that opens a damaged WAL in a new data directory and expects all commits before the damage."""
    numbers = itertools.count()

    def compare(wal: bytes) -> None:
        directory = tmp_path / f"copy-{next(numbers)}"
        recording.restore(directory, wal)
        asyncio.run(_check_store(directory, recording, recording.find_last_commit(wal)))
        shutil.rmtree(directory)

    return compare


async def _check_store(directory: Path, recording: Recording, expected: Commit) -> None:
    store = Store(directory)
    try:
        page = store.list(RESOURCE)
        assert {record.key: record.value for record in page.records} == expected.objects
        assert page.revision == store.revision == expected.revision
        for record in page.records:
            assert recording.events[record.revision].value == record.value
        history, _ = store.watch(RESOURCE, None, store.oldest)
        kept = range(store.oldest + 1, expected.revision + 1)
        assert history == [recording.events[revision] for revision in kept]
        event = await store.write(build_write(Key(RESOURCE, "default", "new"), 0, 10))
        assert isinstance(event, Event)
        assert event.revision == expected.revision + 1
    finally:
        await store.close()
    assert check_file(directory / FILE_NAME) == []


def test_wal_cut_off_at_any_frame_has_all_commits_before_it(
    recording: Recording, check: Callable[[bytes], None]
) -> None:
    for end in [0, 32, *recording.frame_ends]:
        check(recording.wal[:end])


def cut_off(wal: bytes, at: int) -> bytes:
    """Remove everything after an offset."""
    return wal[:at]


def zero_rest(wal: bytes, at: int) -> bytes:
    """Replace everything after an offset with zeros, as if only the size of the file was stored."""
    return wal[:at] + bytes(len(wal) - at)


def flip_bit(wal: bytes, at: int) -> bytes:
    """Change one bit."""
    return wal[:at] + bytes([wal[at] ^ 1 << at % 8]) + wal[at + 1 :]


def lose_sector(wal: bytes, at: int) -> bytes:
    """Replace a sector with zeros or other data."""
    start = at // SECTOR * SECTOR
    end = min(start + SECTOR, len(wal))
    return wal[:start] + bytes([at % 2 * 0xA5]) * (end - start) + wal[end:]


@pytest.mark.parametrize("damage", [cut_off, zero_rest, flip_bit, lose_sector])
def test_wal_damaged_at_random_offsets_has_all_commits_before_the_damage(
    recording: Recording, check: Callable[[bytes], None], damage: Callable[[bytes, int], bytes]
) -> None:
    random = Random(1)  # noqa: S311 - not a secret
    for _ in range(DAMAGED_COPIES):
        check(damage(recording.wal, random.randrange(recording.frame_ends[-1])))
