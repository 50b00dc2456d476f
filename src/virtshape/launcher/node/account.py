"""
Users and groups of launcher processes: if root runs the server, each guest has its own uid.

The uids need no entries in the user database.
"""

import os
import pwd
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

GUEST_USER: Final = 61107
"""The uid of the process that probes QEMU; the group with the same ID may open /dev/net/tun."""
DEFAULT_USERS: Final = range(60578, 61107)
"""Uids for guests: neither distributions nor systemd assign this range, and containers map it."""
_NO_USER: Final = 2**32 - 1
_DEVICES: Final = ("/dev/kvm", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/sev", "/dev/net/tun")


class Account(Struct, frozen=True):
    """A user, its group, and supplementary groups for device access."""

    user: int
    group: int
    groups: tuple[int, ...] = ()

    def may(self, path: Path, wanted: int) -> bool:
        """Return True if the file's mode grants the account all wanted permissions: read (4), write (2), search (1)."""
        try:
            found = path.stat()
        except OSError:
            return False
        mode = stat.S_IMODE(found.st_mode)
        if self.user in (0, found.st_uid):
            return self.user == 0 or (mode >> 6) & wanted == wanted
        if found.st_gid in (self.group, *self.groups):
            return (mode >> 3) & wanted == wanted
        return mode & wanted == wanted


def choose_account() -> Account:
    """Return the account for guests: the account of this process or, if it runs as root, an unprivileged account."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), tuple(os.getgroups()))
    return Account(GUEST_USER, GUEST_USER, tuple(sorted(_list_device_groups())))


def make_guest_account(user: int, base: Account) -> Account:
    """Return the account of one guest: its own user and group, and the groups for device access."""
    groups = {*base.groups, GUEST_USER} - {user}
    return Account(user, user, tuple(sorted(groups)))


def choose_user(users: Sequence[int], taken: Collection[int], last: int | None = None) -> int | None:
    """Return the next user ID after `last` that neither a guest nor the user database uses; None if there is none."""
    start = users.index(last) + 1 if last in users else 0
    for user in (*users[start:], *users[:start]):
        if user not in taken and user not in (0, GUEST_USER) and not _is_known(user):
            return user
    return None


def parse_users(text: str) -> range:
    """Parse a range of users such as `60578-61106`; raise ValueError if the range is invalid."""
    first, _, last = text.partition("-")
    if not (first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal()):
        raise ValueError(f"invalid range of users {text!r}: must be FIRST-LAST, as in 60578-61106")
    if not 0 < int(first) <= int(last) < _NO_USER:
        raise ValueError(f"invalid range of users {text!r}: must be within 1-{_NO_USER - 1}, with FIRST not above LAST")
    return range(int(first), int(last) + 1)


def _is_known(user: int) -> bool:
    """Return True if the user database contains this user."""
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _list_device_groups() -> set[int]:
    """Return the groups that may use devices for guests, without the root group."""
    groups = set()
    for name in _DEVICES:
        try:
            found = Path(name).stat()
        except OSError:
            continue
        if found.st_mode & stat.S_IRGRP and found.st_mode & stat.S_IWGRP and found.st_gid != 0:
            groups.add(found.st_gid)
    return groups
