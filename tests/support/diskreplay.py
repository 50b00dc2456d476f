"""
Replay what `FaultyDisk` recorded, and build the contents that a disk may have after a power failure.

Only what was synced is certain to be on the disk. Of later writes, the disk has any sectors; of later changes of a
directory, the first ones, because file systems keep their order.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

SECTOR: Final = 512
_HEAD: Final = struct.Struct("=IIIIQQq")

Survival = Literal["nothing", "everything", "some sectors"]
"""Which unsynced changes are on the disk."""


class Operation(NamedTuple):
    """One recorded operation; `kind` is the letter that the library writes."""

    kind: str
    thread: int
    inode: int
    time: int
    offset: int
    path: Path
    data: bytes


class Node(ABC):
    """A file or directory: its durable state, and changes that were not synced."""

    def __init__(self) -> None:
        self._pending: list[Operation] = []
        self._syncing: dict[int, int] = {}

    def change(self, operation: Operation) -> None:
        """Add an unsynced change."""
        self._pending.append(operation)

    def begin_sync(self, thread: int) -> None:
        """Note which changes a sync covers."""
        self._syncing[thread] = len(self._pending)

    def end_sync(self, thread: int) -> None:
        """Make the changes durable that the thread's sync covers."""
        covered = self._syncing.pop(thread)
        for operation in self._pending[:covered]:
            self.make_durable(operation)
        del self._pending[:covered]
        self._syncing = {other: max(count - covered, 0) for other, count in self._syncing.items()}

    @abstractmethod
    def make_durable(self, operation: Operation) -> None:
        """Apply a change to the durable state."""


class File(Node):
    """A file and its durable contents."""

    def __init__(self) -> None:
        super().__init__()
        self._content = bytearray()

    def make_durable(self, operation: Operation) -> None:
        _apply(self._content, operation)

    def read_after_failure(self, random: Random, survival: Survival) -> bytes:
        """Return the contents that the file may have after a power failure."""
        content = bytearray(self._content)
        for operation in self._pending if survival != "nothing" else []:
            if survival == "everything":
                _apply(content, operation)
            elif operation.kind == "t":
                if random.random() < 0.5:
                    _apply(content, operation)
            else:
                for part in _split(operation):
                    if random.random() < 0.5:
                        _apply(content, part)
        return bytes(content)


class Folder(Node):
    """A directory and its durable entries."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, Node] = {}
        self._nodes: dict[tuple[int, int], Node] = {}

    def add(self, operation: Operation, node: Node) -> None:
        """Add an unsynced entry."""
        self._nodes[operation.inode, operation.time] = node
        self.change(operation)

    def make_durable(self, operation: Operation) -> None:
        self._change_entries(self._entries, operation)

    def _change_entries(self, entries: dict[str, Node], operation: Operation) -> None:
        name = operation.path.name
        match operation.kind:
            case "c" | "m":
                entries[name] = self._nodes[operation.inode, operation.time]
            case "u":
                entries.pop(name, None)
            case "r":
                entries[Path(operation.data.decode()).name] = entries.pop(name)

    def list_after_failure(self, random: Random, survival: Survival) -> dict[str, Node]:
        """Return the entries that the directory may have after a power failure."""
        found = dict(self._entries)
        count = {"nothing": 0, "everything": len(self._pending)}.get(survival, random.randint(0, len(self._pending)))
        for operation in self._pending[:count]:
            self._change_entries(found, operation)
        return found


class Disk:
    """The state of a disk while recorded operations are replayed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = Folder()
        self._folders = {root: self._folder}
        self._nodes: dict[int, Node] = {root.stat().st_ino: self._folder}

    def replay(self, operation: Operation) -> None:
        """Replay one operation."""
        match operation.kind:
            case "c":
                self._add(operation, File())
            case "m":
                self._folders[operation.path] = folder = Folder()
                self._add(operation, folder)
            case "u" | "r":
                self._folders[operation.path.parent].change(operation)
            case "w" | "t":
                self._nodes[operation.inode].change(operation)
            case "b":
                self._nodes[operation.inode].begin_sync(operation.thread)
            case "e":
                self._nodes[operation.inode].end_sync(operation.thread)

    def _add(self, operation: Operation, node: Node) -> None:
        self._nodes[operation.inode] = node
        self._folders[operation.path.parent].add(operation, node)

    def write_after_failure(self, target: Path, random: Random, survival: Survival) -> None:
        """Create a directory with the files that the disk may have after a power failure."""
        _write(self._folder, target, random, survival)


def _write(folder: Folder, target: Path, random: Random, survival: Survival) -> None:
    target.mkdir()
    for name, node in folder.list_after_failure(random, survival).items():
        if isinstance(node, Folder):
            _write(node, target / name, random, survival)
        elif isinstance(node, File) and not name.endswith("-shm"):  # shared memory, which SQLite builds again
            (target / name).write_bytes(node.read_after_failure(random, survival))


def read_operations(log: Path) -> Iterator[Operation]:
    """Yield the recorded operations in order."""
    with log.open("rb") as file:
        while head := file.read(_HEAD.size):
            kind, path_size, data_size, thread, inode, time, offset = _HEAD.unpack(head)
            path = Path(file.read(path_size).decode())
            yield Operation(chr(kind), thread, inode, time, offset, path, file.read(data_size))


def _apply(content: bytearray, operation: Operation) -> None:
    end = operation.offset + len(operation.data)
    if operation.kind == "t":
        del content[operation.offset :]
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[operation.offset : end] = operation.data


def _split(write: Operation) -> Iterator[Operation]:
    """Split a write into the parts that lie in one sector each."""
    at, end = write.offset, write.offset + len(write.data)
    while at < end:
        next_at = min((at // SECTOR + 1) * SECTOR, end)
        yield write._replace(offset=at, data=write.data[at - write.offset : next_at - write.offset])
        at = next_at
