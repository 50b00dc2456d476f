"""
Cache of files from container images, by image digest. Cached files are never changed.

The cache also stores the digest that each reference resolved to. Concurrent fetches of the same image wait for each
other. The modification time of an image's directory is the time of its last use.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from virtshape.launcher.images.atomic import sync, write_atomically
from virtshape.launcher.images.imageconfig import ImageConfig
from virtshape.launcher.images.layers import Found
from virtshape.launcher.images.progress import Progress

KEPT_SECONDS: Final = 3600.0
"""How long an incomplete layer download is kept, so that it can be resumed."""
RECENT_SECONDS: Final = 600.0
"""How long an image is kept after its last use: the guest or copy that needs it may not have been started yet."""
MAX_NAMES: Final = 1000
"""Number of references whose digests are kept when images are pruned."""
_BLOCK: Final = 4096


class _Image(NamedTuple):
    home: Path
    used: float
    size: int


class ContainerDisk(Struct, frozen=True):
    """A disk image from a container image; read-only."""

    path: str
    format: Literal["raw", "qcow2"]
    size: int
    """Virtual size in bytes."""
    digest: str = ""
    """Digest of the container image; empty for a local file."""


class NameRecord(Struct, omit_defaults=True):
    """The digest that an image reference last resolved to."""

    name: str
    digest: str
    credentials: str = ""
    """Hash of the credentials that the image was pulled with; empty if the image needs none."""

    def allows(self, user: str, password: str) -> bool:
        """Return True if the image was pulled with these credentials, or if it needs none."""
        salt = self.credentials.partition(":")[0]
        return not self.credentials or hash_credentials(user, password, bytes.fromhex(salt)) == self.credentials


def hash_credentials(user: str, password: str, salt: bytes | None = None) -> str:
    """Return a salted hash of credentials."""
    salt = salt or os.urandom(16)
    derived = hashlib.scrypt(f"{user}\0{password}".encode(), salt=salt, n=1 << 12, r=8, p=1)
    return f"{salt.hex()}:{derived.hex()}"


class Cache:
    """A directory with disks and other files from container images, by image digest."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def find_name(self, name: str) -> NameRecord | None:
        """Return the record of the digest that an image reference last resolved to, or None."""
        try:
            return msgspec.json.decode(self._note(name).read_bytes(), type=NameRecord)
        except FileNotFoundError:
            return None

    def set_name(self, record: NameRecord) -> None:
        """Store the digest that an image reference resolves to."""
        write_atomically(self._note(record.name), msgspec.json.encode(record))

    def find_disk(self, digest: str, path: str) -> ContainerDisk | None:
        """Return the cached disk for a path in an image, or None."""
        try:
            os.utime(self._home(digest))
            text = self._describe(digest, path).read_bytes()
        except FileNotFoundError:
            return None
        disk = msgspec.json.decode(text, type=ContainerDisk)
        return disk if Path(disk.path).exists() else None

    def keep_disk(self, digest: str, path: str, file: Path, form: Literal["raw", "qcow2"], size: int) -> ContainerDisk:
        """
        Move an inspected disk into the cache; the key is its path in the image.

        The description is written last, so that an incomplete entry is never found.
        """
        note = self._describe(digest, path)
        disk = ContainerDisk(str(note.with_suffix(".disk")), form, size, digest)
        _move(file, Path(disk.path))
        write_atomically(note, msgspec.json.encode(disk), 0o444)
        return disk

    def find_config(self, digest: str) -> ImageConfig | None:
        """Return the cached configuration of an image, or None."""
        try:
            return msgspec.json.decode(self._locate_config(digest).read_bytes(), type=ImageConfig)
        except FileNotFoundError:
            return None

    def keep_config(self, digest: str, config: ImageConfig) -> None:
        """Store the configuration of an image."""
        write_atomically(self._locate_config(digest), msgspec.json.encode(config), 0o444)

    def find_files(self, digest: str, paths: Iterable[str]) -> Path | None:
        """Return the directory with exactly these files of an image, or None."""
        with suppress(FileNotFoundError):
            os.utime(self._home(digest))
        home = self._home(digest) / _shorten("\n".join(sorted(paths)))
        return home if home.exists() else None

    def keep_files(self, digest: str, found: list[Found], scratch: Path) -> Path:
        """Move files into the cache and return their directory, in which they have the same paths as in the image."""
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
        return self._directory / "layers" / _name_file(digest)

    @contextmanager
    def lock(self, digest: str, progress: Progress) -> Iterator[Path]:
        """Lock an image against other fetches and yield a temporary directory."""
        while (descriptor := self._try_lock(_name_file(digest))) is None:
            progress(0, None)
            time.sleep(0.1)
        try:
            prefix = f".work-{_name_file(digest)}-"
            for leftover in self._directory.glob(f"{prefix}*"):  # left by a process that was killed
                shutil.rmtree(leftover, ignore_errors=True)
            self._remove_stale_layers()
            with tempfile.TemporaryDirectory(prefix=prefix, dir=self._directory) as scratch:
                yield Path(scratch)
        finally:
            os.close(descriptor)

    def prune(self, limit: int, list_paths_in_use: Callable[[], Iterable[str]]) -> None:
        """
        Remove the least recently used images until the remaining images use at most `limit` bytes.

        Images with paths in use, images used in the last ten minutes and images that are being fetched are kept.
        """
        images = sorted(_list_images(self._directory / "disks"), key=lambda image: image.used)
        known = {image.home.name for image in images}
        excess = sum(image.size for image in images) - limit
        if excess > 0:
            in_use = {part for path in list_paths_in_use() for part in Path(path).parts}
            before = time.time() - RECENT_SECONDS
            for image in images:
                is_unused = image.used < before and image.home.name not in in_use
                if is_unused and excess > 0 and self._remove(image):
                    excess -= image.size
        for leftover in self._directory.glob(".work-*"):  # left by a process that was killed
            with self._lock_for_removal(leftover.name.removeprefix(".work-").rpartition("-")[0]) as is_locked:
                if is_locked:
                    shutil.rmtree(leftover, ignore_errors=True)
        for lock in _list_by_age(self._directory / "locks"):
            if lock.name not in known:  # left by a fetch that failed
                with self._lock_for_removal(lock.name):
                    pass
        for note in _list_by_age(self._directory / "names")[:-MAX_NAMES]:
            note.unlink(missing_ok=True)

    def _remove(self, image: _Image) -> bool:
        """Remove an image unless it has been used or locked since it was listed; return True if it was removed."""
        with self._lock_for_removal(image.home.name) as is_locked:
            if not is_locked or not image.home.exists():
                return False
            removed = self._directory / f".work-{image.home.name}-removed"
            image.home.rename(removed)
            if removed.stat().st_mtime > image.used:
                removed.rename(image.home)
                return False
            shutil.rmtree(removed, ignore_errors=True)
            return True

    @contextmanager
    def _lock_for_removal(self, name: str) -> Iterator[bool]:
        """Lock an image and remove the lock file at the end; yield False if another fetch holds the lock."""
        descriptor = self._try_lock(name)
        if descriptor is None:
            yield False
            return
        try:
            yield True
            (self._directory / "locks" / name).unlink(missing_ok=True)
        finally:
            os.close(descriptor)

    def _try_lock(self, name: str) -> int | None:
        """Return a descriptor that holds the lock of an image, or None if another process holds it."""
        path = self._directory / "locks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.stat().st_ino == os.fstat(descriptor).st_ino:  # pruning may have removed the lock file
                return descriptor
        os.close(descriptor)
        return None

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
        return self._directory / "disks" / _name_file(digest)

    def _locate_config(self, digest: str) -> Path:
        return self._home(digest) / "config.json"

    def _describe(self, digest: str, path: str) -> Path:
        return self._home(digest) / f"{_shorten(path) if path else 'only'}.json"


def _move(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    file.chmod(0o444)
    sync(file)
    file.rename(target)
    sync(target.parent)


def _list_images(disks: Path) -> Iterator[_Image]:
    """Yield the cached images with their size on disk; skip images that another process removes."""
    for home in disks.iterdir() if disks.exists() else ():
        with suppress(FileNotFoundError):
            used = home.stat().st_mtime
            sizes = (max(path.lstat().st_blocks * 512, _BLOCK) for path in (home, *home.rglob("*")))
            yield _Image(home, used, sum(sizes))


def _list_by_age(directory: Path) -> list[Path]:
    """Return the files of a directory, oldest first."""
    found = []
    for path in directory.iterdir() if directory.exists() else ():
        with suppress(FileNotFoundError):
            found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found)]


def _name_file(digest: str) -> str:
    return digest.replace(":", "-")


def _shorten(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
