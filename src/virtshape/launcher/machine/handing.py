"""
Handing a guest what its volumes are made of: to write where they are its own, to read where others share them.

What lies in the data directory may change hands. Disks of the machine that were found for the guest keep their owners;
everything else is the business of whoever put it there.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from virtshape.launcher.machine.account import Account
from virtshape.launcher.order import Order

_OWN: Final = ("persistent_volume_claim", "data_volume")


def hand_over(order: Order, data: Path, account: Account) -> None:
    """Let the account use what the guest is made of, as far as it lies in the data directory."""
    if account.user == os.geteuid():
        return
    volumes = order.vmi.spec.volumes or ()
    own = {volume.name for volume in volumes if any(getattr(volume, kind) for kind in _OWN)}
    hosted = {volume.name for volume in volumes if volume.host_disk is not None}
    for name in hosted & order.mounts.keys():
        _lend(Path(order.mounts[name]), account)
    wanted = [(mount, name in own) for name, mount in order.mounts.items() if name not in hosted]
    if order.state_directory is not None:
        wanted.append((order.state_directory, True))
    for mount, write in wanted:
        path = Path(mount).resolve()
        if path.is_relative_to(data.resolve()):
            _give(path, account, write=write)


def list_reach(order: Order) -> list[str]:
    """Everything outside its directory that the guest is made of."""
    return [*order.mounts.values(), *([order.state_directory] if order.state_directory is not None else [])]


def _lend(path: Path, account: Account) -> None:
    """Let the account's group read and write a file, which stays its owner's."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if is_plain and not account.may(path, 6):
            os.fchown(handle, -1, account.group)
            os.fchmod(handle, stat.S_IMODE(found.st_mode) | stat.S_IRGRP | stat.S_IWGRP)
    finally:
        os.close(handle)


def _give(path: Path, account: Account, *, write: bool) -> None:
    for name, parent in _walk(path):
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not (stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)):
            continue  # a link could lead to a file that was never meant
        if write:
            if found.st_uid != account.user:
                os.chown(name, account.user, account.group, dir_fd=parent, follow_symlinks=False)
        elif found.st_uid != account.user and (found.st_gid != account.group or not found.st_mode & stat.S_IRGRP):
            os.chown(name, -1, account.group, dir_fd=parent, follow_symlinks=False)
            enter = stat.S_IXGRP if stat.S_ISDIR(found.st_mode) else 0
            mode = stat.S_IMODE(found.st_mode) & ~stat.S_IWGRP | stat.S_IRGRP | enter
            os.chmod(name, mode, dir_fd=parent)


def _walk(path: Path) -> Iterator[tuple[str, int]]:
    """Everything under a path and the path itself, each by its name and a handle of its directory."""
    parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield path.name, parent
        if path.is_dir():
            for _, directories, files, handle in os.fwalk(path.name, dir_fd=parent):
                for name in (*directories, *files):
                    yield name, handle
    finally:
        os.close(parent)
