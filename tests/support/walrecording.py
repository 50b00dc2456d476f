"""Record a store's database and WAL with the state after each acknowledged commit, and restore damaged copies."""

import contextlib
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from virtshape.store.record import Event, Key
from virtshape.store.store import FILE_NAME, Store
from virtshape.store.writer import Write

RESOURCE: Final = "configmaps"
_HEADER: Final = 32
_FRAME_HEADER: Final = 24


class Commit(NamedTuple):
    """An acknowledged commit: where it ends in the WAL, and the revision and objects after it."""

    end: int
    revision: int
    objects: dict[Key, bytes]


class Recording(NamedTuple):
    """The files of a store at one moment, and the commits that its WAL contains; the first one is in the database."""

    database: bytes
    wal: bytes
    commits: list[Commit]
    events: dict[int, Event]

    @property
    def frame_ends(self) -> list[int]:
        """The offsets in the WAL at which frames of this generation end."""
        return [end for end, _ in list_frames(self.wal)]

    def find_last_commit(self, wal: bytes) -> Commit:
        """Return the last commit whose frames, and all frames before them, are intact in a damaged WAL."""
        intact = 0
        for end in (_HEADER, *self.frame_ends):
            if wal[intact:end] != self.wal[intact:end]:
                break
            intact = end
        return [commit for commit in self.commits if commit.end <= intact][-1]

    def restore(self, directory: Path, wal: bytes) -> None:
        """Write the database and a damaged WAL into a new data directory."""
        directory.mkdir()
        (directory / FILE_NAME).write_bytes(self.database)
        (directory / f"{FILE_NAME}-wal").write_bytes(wal)


def list_frames(wal: bytes) -> Iterator[tuple[int, bool]]:
    """Yield the end of each frame of the WAL's current generation, and whether the frame ends a commit."""
    if len(wal) < _HEADER:
        return
    page_size: int = struct.unpack_from(">I", wal, 8)[0]
    step = _FRAME_HEADER + page_size
    for start in range(_HEADER, len(wal) - step + 1, step):
        if wal[start + 8 : start + 16] != wal[16:24]:  # the salts of an earlier generation
            return
        yield start + step, wal[start + 4 : start + 8] != bytes(4)


async def record(directory: Path, commits: int, *, restart_at: int = -1) -> Recording:
    """
    Make random commits of one to five writes each, and return the files as they are before the store is closed.

    Before commit `restart_at`, a checkpoint makes the WAL start again, so that it contains frames of two generations.
    """
    directory.mkdir()
    random = Random(commits)  # noqa: S311 - not a secret
    store = Store(directory)
    try:
        wal = directory / f"{FILE_NAME}-wal"
        objects: dict[Key, tuple[int, bytes]] = {}
        events: dict[int, Event] = {}
        done = [Commit(0, 0, {})]
        for number in range(commits):
            if number == restart_at:
                _restart_wal(directory / FILE_NAME)
                done = [Commit(0, store.revision, done[-1].objects)]
            for event in await store.write_all(_choose_writes(random, objects)):
                assert isinstance(event, Event), event
                events[event.revision] = event
                if event.type == "DELETED":
                    del objects[event.key]
                else:
                    objects[event.key] = event.revision, event.value
            end = max(end for end, is_commit in list_frames(wal.read_bytes()) if is_commit)
            done.append(Commit(end, store.revision, {key: value for key, (_, value) in objects.items()}))
            if number % 10 == 9:  # compaction commits too, and changes no object
                await store.compact(store.revision - 20)
        return Recording((directory / FILE_NAME).read_bytes(), wal.read_bytes(), done, events)
    finally:
        await store.close()


def build_write(key: Key, expected: int, size: int, *, removes: bool = False) -> Write:
    """Build a write whose value contains its revision."""
    return Write(key, expected, b'{"revision":', b',"padding":"%b"}' % (b"x" * size), removes)


def _choose_writes(random: Random, objects: dict[Key, tuple[int, bytes]]) -> list[Write]:
    writes = []
    for number in random.sample(range(60), random.randint(1, 5)):
        key = Key(RESOURCE, "default", f"c{number}")
        expected = objects[key][0] if key in objects else 0
        size = random.choice([10, 500, 3000, 9000])  # values of more than a page need several frames
        writes.append(build_write(key, expected, size, removes=expected > 0 and random.random() < 0.2))
    return writes


def _restart_wal(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        busy, in_wal, copied = connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        assert (busy, in_wal) == (0, copied)
