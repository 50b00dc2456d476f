"""
Where guests live in the data directory, whom their directories belong to, and the short ways there.

A guest's user may add to its directory and replace what is its own, but not what its supervisor put there.
"""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

from virtshape.launcher.layout import Layout, is_short_enough
from virtshape.launcher.machine.account import Account

_SHARED: Final = 0o1770
_PRIVATE: Final = 0o700


class PlaceError(Exception):
    """A directory that cannot be used, and why."""


class Places:
    """The directories of all guests of one system."""

    def __init__(self, data: Path, account: Account) -> None:
        self.data = data
        self.account = account
        self.memory = data / "cache" / "machine.json"
        """What is remembered of the machine."""
        self.cache = data / "cache" / "libvirt"
        """What libvirt remembers of QEMU, for all launcher processes."""
        self.log = data / "cache" / "nursery.log"
        """What the process had to say that launcher processes are forks of."""
        self._guests = data / "guests"

    def list_guests(self) -> list[str]:
        """The uids of the instances that have directories."""
        if not self._guests.exists():
            return []
        return sorted(path.name for path in self._guests.iterdir() if path.is_dir())

    def sweep(self) -> None:
        """Remove short ways that lead nowhere, as data directories leave them that were deleted."""
        root = find_short_root()
        for short in root.iterdir() if root.is_dir() else ():
            if short.is_symlink() and not short.exists():
                short.unlink(missing_ok=True)

    def find(self, uid: str) -> Layout:
        """Where the guest of this instance is, or would be."""
        return Layout(_shorten(self._guests / uid))

    def make(self, uid: str) -> Layout:
        """Make the directory of a guest."""
        return self._make(self._guests / uid)

    def make_for_probe(self) -> Layout:
        """Make a directory in which QEMU can be asked what it can do."""
        return self._make(self.data / "cache" / "probe")

    def remove(self, uid: str) -> None:
        """Remove the directory of a guest, and all that is in it."""
        self._remove(self._guests / uid)

    def remove_for_probe(self) -> None:
        """Remove the directory that QEMU was asked in."""
        self._remove(self.data / "cache" / "probe")

    def write(self, path: Path, content: bytes) -> None:
        """Put a file into a guest's directory that its user may read and not change."""
        draft = path.with_suffix(".draft")
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o640)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        self._give(draft, 0o640, group_only=True)
        draft.replace(path)

    def _make(self, directory: Path) -> Layout:
        for parent in (self.data, directory.parent, self.cache.parent):
            parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        layout = Layout(_shorten(directory))
        directory.mkdir(exist_ok=True)
        self._give(directory, _SHARED if self._is_other() else _PRIVATE, group_only=True)
        for own in (self.cache, directory / "libvirt"):
            own.mkdir(exist_ok=True)
            self._give(own, _PRIVATE)
        link = directory / "libvirt" / "cache"
        if not link.is_symlink():
            link.symlink_to(self.cache)
        _link(layout.directory, directory)
        return layout

    def _remove(self, directory: Path) -> None:
        short = _shorten(directory)
        if short != directory:
            short.unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)

    def _give(self, path: Path, mode: int, *, group_only: bool = False) -> None:
        if self._is_other():
            os.chown(path, -1 if group_only else self.account.user, self.account.group)
        path.chmod(mode)

    def _is_other(self) -> bool:
        return self.account.user != os.geteuid()


def _shorten(directory: Path) -> Path:
    """The way to a directory that is short enough for sockets; always the same for the same directory."""
    if is_short_enough(directory):
        return directory
    return find_short_root() / hashlib.sha256(str(directory).encode()).hexdigest()[:12]


def find_short_root() -> Path:
    """Where the short ways begin: a directory that only this user can add to."""
    return Path("/run/virtshape-guests") if os.geteuid() == 0 else Path(f"/tmp/virtshape-{os.geteuid()}")  # noqa: S108


def _link(short: Path, directory: Path) -> None:
    """Have the short way lead to the directory."""
    if short == directory or (short.is_symlink() and short.readlink() == directory):
        return
    root = short.parent
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = root.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022 or root.is_symlink():
        raise PlaceError(f"{root} belongs to somebody else, or others may write to it")
    short.unlink(missing_ok=True)
    short.symlink_to(directory)
