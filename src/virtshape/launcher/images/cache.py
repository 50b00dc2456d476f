"""
Cache of files from container images, by image digest. Cached files are never changed.

Also stores the digest that each reference resolved to. Concurrent fetches of the same image wait for each other.
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
"""How long an incomplete layer download is kept, so that it can be resumed."""


class ContainerDisk(Struct, frozen=True):
    """A disk image from a container image; read-only."""

    path: str
    format: Literal["raw", "qcow2"]
    size: int
    """Virtual size in bytes."""
    digest: str = ""
    """Digest of the container image; empty for a local file."""


class NameRecord(Struct, omit_defaults=True):
    """The digest that a reference last resolved to."""

    name: str
    digest: str
    credentials: str = ""
    """Hash of the credentials that the image was pulled with; empty if it needs none."""

    def allows(self, user: str, password: str) -> bool:
        """Return True if these credentials have given access to the image before, or if it needs none."""
        salt = self.credentials.partition(":")[0]
        return not self.credentials or hash_credentials(user, password, bytes.fromhex(salt)) == self.credentials


def hash_credentials(user: str, password: str, salt: bytes | None = None) -> str:
    """Return a salted hash of credentials."""
    salt = salt or os.urandom(16)
    derived = hashlib.scrypt(f"{user}\0{password}".encode(), salt=salt, n=1 << 12, r=8, p=1)
    return f"{salt.hex()}:{derived.hex()}"


class Cache:
    """A directory of disks and other files, by image digest."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find_name(self, name: str) -> NameRecord | None:
        """Return what a reference last resolved to, or None."""
        try:
            return msgspec.json.decode(self._note(name).read_bytes(), type=NameRecord)
        except FileNotFoundError:
            return None

    def set_name(self, record: NameRecord) -> None:
        """Store what a reference resolves to."""
        write_atomically(self._note(record.name), msgspec.json.encode(record))

    def find_disk(self, digest: str, path: str) -> ContainerDisk | None:
        """Return the cached disk for a path in an image, or None."""
        try:
            text = self._describe(digest, path).read_bytes()
        except FileNotFoundError:
            return None
        disk = msgspec.json.decode(text, type=ContainerDisk)
        return disk if Path(disk.path).exists() else None

    def keep_disk(self, digest: str, path: str, file: Path, form: Literal["raw", "qcow2"], size: int) -> ContainerDisk:
        """Cache an inspected disk by its path in the image; its description is written last."""
        note = self._describe(digest, path)
        disk = ContainerDisk(str(note.with_suffix(".disk")), form, size, digest)
        _move(file, Path(disk.path))
        write_atomically(note, msgspec.json.encode(disk), 0o444)
        return disk

    def find_files(self, digest: str, paths: Iterable[str]) -> Path | None:
        """Return the directory with these files of an image, or None."""
        home = self._home(digest) / _shorten("\n".join(sorted(paths)))
        return home if home.exists() else None

    def keep_files(self, digest: str, found: list[Found], scratch: Path) -> Path:
        """Cache files in a directory, under their paths in the image."""
        tree = scratch / "tree"
        for one in found:
            _move(one.path, tree / one.name.lstrip("/"))
        home = self._home(digest) / _shorten("\n".join(sorted(one.name for one in found)))
        home.parent.mkdir(parents=True, exist_ok=True)
        tree.rename(home)
        sync(home.parent)
        return home

    def locate_layer(self, digest: str) -> Path:
        """Return the path to download a layer to."""
        return self._directory / "layers" / digest.replace(":", "-")

    @contextmanager
    def lock(self, digest: str, progress: Progress) -> Iterator[Path]:
        """Lock an image against other fetches and yield a temporary directory."""
        locks = self._directory / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(locks / digest.replace(":", "-"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _is_locked(descriptor):
                progress(0, None)
                time.sleep(0.1)
            prefix = f".work-{digest.replace(':', '-')}-"
            for leftover in self._directory.glob(f"{prefix}*"):  # left by a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            self._remove_stale_layers()
            with tempfile.TemporaryDirectory(prefix=prefix, dir=self._directory) as scratch:
                yield Path(scratch)
        finally:
            os.close(descriptor)

    def _remove_stale_layers(self) -> None:
        """Remove incomplete layer downloads that were abandoned."""
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
