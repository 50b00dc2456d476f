"""
Guest directories in the data directory, their owners, and short links to them.

A guest's user may add files and replace its own, but not those of the supervisor. If root runs the server, the group ID
of a guest's directory is the guest's user ID: group IDs therefore record which user IDs are taken.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from virtshape.launcher.layout import Layout, is_short_enough
from virtshape.launcher.node.account import DEFAULT_USERS, Account, choose_user, make_guest_account

_UID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,127}")
_SHARED: Final = 0o1770
_PRIVATE: Final = 0o700


class DirectoryError(Exception):
    """A guest directory cannot be used."""


def validate_uid(uid: str) -> str:
    """Return an instance's uid if it is a valid directory name; raise DirectoryError otherwise."""
    if _UID.fullmatch(uid) is None:
        raise DirectoryError(f"invalid uid {uid!r}: it cannot be the name of a directory")
    return uid


def write_file(path: Path, content: bytes, group: int | None) -> None:
    """Write a file into a guest's directory without following links; `group` is the group that may read it."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        if group is not None:
            os.fchown(handle, -1, group)
        os.fchmod(handle, 0o640)
    draft.replace(path)


class GuestDirectories:
    """The directories of all guests in one data directory."""

    def __init__(self, data: Path, account: Account) -> None:
        self.data = data
        self.account = account
        """The account that probes QEMU; unless root runs the server, guests have this account too."""
        self.probe_cache = data / "cache" / "machine.json"
        """Cached result of the host probe."""
        self.libvirt_cache = data / "cache" / "libvirt"
        """Libvirt's cache of QEMU's capabilities, which is copied for each guest."""
        self.forkserver_log = data / "cache" / "forkserver.log"
        """Log of the fork server."""
        self._guests = data / "guests"
        self._last_user: int | None = None

    def list_guests(self) -> list[str]:
        """Return the uids of the instances that have directories."""
        if not self._guests.exists():
            return []
        return sorted(path.name for path in self._guests.iterdir() if path.is_dir() and not path.name.startswith("."))

    def remove_dangling_links(self) -> None:
        """Remove short links to directories that were deleted."""
        root = get_short_root()
        for short in root.iterdir() if root.is_dir() else ():
            if short.is_symlink() and not short.exists():
                short.unlink(missing_ok=True)

    def get_layout(self, uid: str) -> Layout:
        """Return the layout of an instance's directory, which may not exist."""
        return Layout(_shorten(self._locate(uid)))

    def get_account(self, uid: str) -> Account:
        """Return the account of an instance's guest, or the common account if the guest has no directory yet."""
        user = self._find_user(self._locate(uid)) if self._is_other() else None
        return make_guest_account(user, self.account) if user is not None else self.account

    def _locate(self, uid: str) -> Path:
        return self._guests / validate_uid(uid)

    def list_users(self) -> set[int]:
        """Return the user IDs assigned to guests that have a directory; empty if guests have no separate users."""
        found = (self._find_user(self._locate(uid)) for uid in self.list_guests())
        return {user for user in found if user is not None} if self._is_other() else set()

    def make(self, uid: str, users: Sequence[int] = DEFAULT_USERS) -> Layout:
        """Create the directory of a guest; raise DirectoryError if none of these users is free."""
        directory = self._locate(uid)
        if self._is_other() and self._find_user(directory) is None:
            user = choose_user(users, self.list_users(), self._last_user)
            if user is None:
                raise DirectoryError(
                    f"all users for guests are taken ({users[0]}-{users[-1]}): set a larger range as guests.users in"
                    " config.yaml"
                )
            self._last_user = user
            return self._make(directory, make_guest_account(user, self.account))
        return self._make(directory, self.get_account(uid))

    def make_for_probe(self) -> Layout:
        """Create a directory for probing QEMU, and remove the cache of an earlier probe."""
        self.remove_for_probe()
        shutil.rmtree(self.libvirt_cache, ignore_errors=True)
        return self._make(self.data / "cache" / "probe", self.account)

    def keep_probed(self) -> None:
        """Save libvirt's cache from the probe, so that it can be copied for each guest."""
        probed = self.data / "cache" / "probe" / "libvirt" / "cache"
        shutil.copytree(probed, self.libvirt_cache, symlinks=True, dirs_exist_ok=True)
        self.libvirt_cache.chmod(_PRIVATE)

    def remove(self, uid: str) -> None:
        """Remove the directory of a guest."""
        self._remove(self._locate(uid))

    def remove_for_probe(self) -> None:
        """Remove the directory for probing QEMU."""
        self._remove(self.data / "cache" / "probe")

    def write(self, path: Path, content: bytes) -> None:
        """Write a file into a guest's directory; the guest's user may read but not change the file."""
        write_file(path, content, path.parent.stat().st_gid if self._is_other() else None)

    def _make(self, directory: Path, account: Account) -> Layout:
        for parent in (self.data, directory.parent, self.libvirt_cache.parent):
            parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        layout = Layout(_shorten(directory))
        if not directory.exists():
            self._fill(directory, account)
        _link(layout.directory, directory)
        return layout

    def _fill(self, directory: Path, account: Account) -> None:
        """Create a directory with a copy of libvirt's cache, atomically."""
        draft = directory.with_name(f".{directory.name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=_PRIVATE)
        libvirt = draft / "libvirt"
        libvirt.mkdir(mode=_PRIVATE)
        if self.libvirt_cache.is_dir():
            shutil.copytree(self.libvirt_cache, libvirt / "cache", symlinks=True)
        if self._is_other():
            for path in (libvirt, *libvirt.rglob("*")):
                os.chown(path, account.user, account.group, follow_symlinks=False)
            os.chown(draft, -1, account.group)
        draft.chmod(_SHARED if self._is_other() else _PRIVATE)
        draft.replace(directory)

    def _remove(self, directory: Path) -> None:
        short = _shorten(directory)
        if short != directory:
            short.unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)

    def _find_user(self, directory: Path) -> int | None:
        """Return the user ID of a guest, which is the group ID of its directory; None if it has no separate user."""
        try:
            return directory.stat().st_gid or None
        except OSError:
            return None

    def _is_other(self) -> bool:
        return self.account.user != os.geteuid()


def _shorten(directory: Path) -> Path:
    """Return a path to the directory that is short enough for sockets, and always the same for one directory."""
    if is_short_enough(directory):
        return directory
    return get_short_root() / hashlib.sha256(str(directory).encode()).hexdigest()[:12]


def get_short_root() -> Path:
    """Return the directory of the short links, which only this user can write to."""
    return Path("/run/virtshape-guests") if os.geteuid() == 0 else Path(f"/tmp/virtshape-{os.geteuid()}")  # noqa: S108


def _link(short: Path, directory: Path) -> None:
    """Create the short link to a directory."""
    if short == directory or (short.is_symlink() and short.readlink() == directory):
        return
    root = short.parent
    root.mkdir(mode=0o755, parents=True, exist_ok=True)
    found = root.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022 or root.is_symlink():
        raise DirectoryError(f"{root} is owned by another user or writable by others")
    short.unlink(missing_ok=True)
    short.symlink_to(directory)
