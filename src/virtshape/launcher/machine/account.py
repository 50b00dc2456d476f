"""
Who a launcher process runs as when root starts it: a user that nobody else is.

Only reads; the user needs no entry in the machine's database.
"""

import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

GUEST_USER: Final = 61107
"""In a range that neither distributions nor systemd give out."""
_DEVICES: Final = ("/dev/kvm", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/sev", "/dev/net/tun")


class Account(Struct, frozen=True):
    """A user, its group, and the groups that open devices to it."""

    user: int
    group: int
    groups: tuple[int, ...] = ()

    def may(self, path: Path, wanted: int) -> bool:
        """Whether the file's mode lets it read (4), write (2) or enter (1)."""
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
    """Who guests run as: this process's own user, unless that is root."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), tuple(os.getgroups()))
    return Account(GUEST_USER, GUEST_USER, tuple(sorted(_list_device_groups())))


def _list_device_groups() -> set[int]:
    """The groups that may use devices which guests can have something from; never root's."""
    groups = set()
    for name in _DEVICES:
        try:
            found = Path(name).stat()
        except OSError:
            continue
        if found.st_mode & stat.S_IRGRP and found.st_mode & stat.S_IWGRP and found.st_gid != 0:
            groups.add(found.st_gid)
    return groups
