"""
Files out of container images, kept by the digest of the image they came in: written once, used by many, never changed.

Remembers, too, which digest a name led to. Whoever fetches waits for others that fetch the same image.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from virtshape.launcher.images.atomic import sync, write_atomically
from virtshape.launcher.images.layers import Found
from virtshape.launcher.images.progress import Progress

KEPT_SECONDS: Final = 3600.0
"""How long a layer whose download broke off is kept, for the next attempt to go on from there."""


class ContainerDisk(Struct, frozen=True):
    """A disk image that came in a container image; nobody may write to it."""

    path: str
    format: Literal["raw", "qcow2"]
    size: int
    """Bytes that a guest sees."""
    digest: str = ""
    """That of the container image; empty for a local file."""


class _NameRecord(Struct):
    """What a name led to when it was last looked up."""

    name: str
    digest: str


class Cache:
    """A directory of disks and other files by digest."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find_digest(self, name: str) -> str | None:
        """Give the digest that a name led to last."""
        try:
            return msgspec.json.decode(self._note(name).read_bytes(), type=_NameRecord).digest
        except FileNotFoundError:
            return None

    def set_digest(self, name: str, digest: str) -> None:
        """Note which digest a name leads to."""
        write_atomically(self._note(name), msgspec.json.encode(_NameRecord(name, digest)), 0o644)

    def find_disk(self, digest: str, path: str) -> ContainerDisk | None:
        """Give the disk that was kept of a path in an image."""
        try:
            text = self._describe(digest, path).read_bytes()
        except FileNotFoundError:
            return None
        disk = msgspec.json.decode(text, type=ContainerDisk)
        return disk if Path(disk.path).exists() else None

    def keep_disk(self, digest: str, path: str, file: Path, form: Literal["raw", "qcow2"], size: int) -> ContainerDisk:
        """Keep a disk, which was judged, under the path it had in an image; its description comes last."""
        note = self._describe(digest, path)
        disk = ContainerDisk(str(note.with_suffix(".disk")), form, size, digest)
        _move(file, Path(disk.path))
        write_atomically(note, msgspec.json.encode(disk), 0o444)
        return disk

    def find_files(self, digest: str, paths: Iterable[str]) -> Path | None:
        """Give the directory that holds these files of an image."""
        home = self._home(digest) / _shorten("\n".join(sorted(paths)))
        return home if home.exists() else None

    def keep_files(self, digest: str, found: list[Found], scratch: Path) -> Path:
        """Keep files in a directory, under the paths they had in an image."""
        tree = scratch / "tree"
        for one in found:
            _move(one.path, tree / one.name.lstrip("/"))
        home = self._home(digest) / _shorten("\n".join(sorted(one.name for one in found)))
        home.parent.mkdir(parents=True, exist_ok=True)
        tree.rename(home)
        sync(home.parent)
        return home

    def locate_layer(self, digest: str) -> Path:
        """Name the file that a layer may be brought to."""
        return self._directory / "layers" / digest.replace(":", "-")

    @contextmanager
    def lock(self, digest: str, progress: Progress) -> Iterator[Path]:
        """Give a directory for what is half done, once nobody else works on the same image."""
        locks = self._directory / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(locks / digest.replace(":", "-"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _is_locked(descriptor):
                progress(0, None)
                time.sleep(0.1)
            prefix = f".work-{digest.replace(':', '-')}-"
            for leftover in self._directory.glob(f"{prefix}*"):  # of a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            self._remove_stale_layers()
            with tempfile.TemporaryDirectory(prefix=prefix, dir=self._directory) as scratch:
                yield Path(scratch)
        finally:
            os.close(descriptor)

    def _remove_stale_layers(self) -> None:
        """Remove what is left of layers that were given up long ago, since nothing else would."""
        before = time.time() - KEPT_SECONDS
        for path in (self._directory / "layers").glob(".*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before:
                    path.unlink()

    def _note(self, name: str) -> Path:
        return self._directory / "names" / f"{_shorten(name)}.json"

    def _home(self, digest: str) -> Path:
        return self._directory / "disks" / digest.replace(":", "-")

    def _describe(self, digest: str, path: str) -> Path:
        return self._home(digest) / f"{_shorten(path) if path else 'only'}.json"


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.chmod(0o444)
    sync(file)
    file.rename(target)
    sync(target.parent)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
