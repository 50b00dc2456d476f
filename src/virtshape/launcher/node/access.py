"""
Grant a guest access to the files of its volumes: write access to its own files, read access to shared files.

The guest becomes the owner of its own files in the data directory. Claims that another guest uses at the same time,
and host disks, keep their owner: an ACL grants access for as long as the guest exists.
"""

import contextlib
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from virtshape.launcher.launchrequest import LaunchRequest
from virtshape.launcher.node import acl
from virtshape.launcher.node.account import Account

_OWN: Final = ("persistent_volume_claim", "data_volume")
_READ_WRITE, _ENTER = 6, 7


def grant_access(launch_request: LaunchRequest, data: Path, account: Account, others: Collection[int] = ()) -> None:
    """Grant the account access to its guest's files; `others` are the user IDs of other guests."""
    if account.user == os.geteuid():
        return
    for path in _list_host_disks(launch_request):
        _grant_file(path, account)
    for path in _list_owned(launch_request, data):
        _transfer(path, account, others)
    for path in _list_shared(launch_request, data):
        _grant_read(path, account, private=path.is_relative_to(data.resolve() / "guests"))


def revoke_access(launch_request: LaunchRequest, data: Path, account: Account) -> None:
    """Revoke the account's access after its guest was removed."""
    if account.user == os.geteuid():
        return
    for path in (*_list_host_disks(launch_request), *_list_owned(launch_request, data)):
        with contextlib.suppress(OSError):  # the file was removed
            for handle, found in _walk_open(path):
                if found.st_uid == account.user:
                    os.fchown(handle, 0, 0)
                acl.revoke(handle, account.user)


def list_external_paths(launch_request: LaunchRequest) -> list[str]:
    """Return all paths that the guest uses outside of its directory."""
    return [
        *launch_request.mounts.values(),
        *([launch_request.state_directory] if launch_request.state_directory is not None else []),
    ]


def _list_host_disks(launch_request: LaunchRequest) -> list[Path]:
    names = {volume.name for volume in launch_request.vmi.spec.volumes or () if volume.host_disk is not None}
    return [Path(launch_request.mounts[name]) for name in sorted(names & launch_request.mounts.keys())]


def _list_owned(launch_request: LaunchRequest, data: Path) -> list[Path]:
    """Return the paths of the guest's claims and persistent state that are in the data directory."""
    volumes = launch_request.vmi.spec.volumes or ()
    names = {volume.name for volume in volumes if any(getattr(volume, kind) for kind in _OWN)}
    state = [launch_request.state_directory] if launch_request.state_directory is not None else []
    return _list_inside(
        [*(launch_request.mounts[name] for name in sorted(names & launch_request.mounts.keys())), *state], data
    )


def _list_shared(launch_request: LaunchRequest, data: Path) -> list[Path]:
    taken = {str(path) for path in (*_list_host_disks(launch_request), *_list_owned(launch_request, data))}
    mounts = [
        mount for mount in launch_request.mounts.values() if mount not in taken and str(_locate(mount)) not in taken
    ]
    return _list_inside(mounts, data)


def _list_inside(mounts: list[str], data: Path) -> list[Path]:
    found = (_locate(mount) for mount in mounts)
    return [path for path in found if path.is_relative_to(data.resolve()) and path != data.resolve()]


def _locate(mount: str) -> Path:
    """Resolve links in a path except in its last component, because a guest can replace its image with a link."""
    path = Path(mount)
    return path.parent.resolve() / path.name


def _grant_file(path: Path, account: Account) -> None:
    """Grant the account read and write access to a host file through an ACL."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        is_plain = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
        if is_plain and not account.may(path, _READ_WRITE):
            acl.grant(handle, account.user, _READ_WRITE)
    finally:
        os.close(handle)


def _transfer(path: Path, account: Account, others: Collection[int]) -> None:
    """Change the owner of all files under a path; for files that another guest owns, grant access through an ACL."""
    for handle, found in _walk_open(path):
        if found.st_mode & stat.S_IRWXO:
            os.fchmod(handle, stat.S_IMODE(found.st_mode) & ~stat.S_IRWXO)
        if found.st_uid in others:
            acl.grant(handle, account.user, _ENTER if stat.S_ISDIR(found.st_mode) else _READ_WRITE)
        elif found.st_uid != account.user:
            os.fchown(handle, account.user, account.group)


def _grant_read(path: Path, account: Account, *, private: bool) -> None:
    """Grant read access to everything under a path: to the account's group if private, else to all users."""
    for handle, found in _walk_open(path):
        if found.st_uid == account.user:
            continue
        is_directory, mode = stat.S_ISDIR(found.st_mode), stat.S_IMODE(found.st_mode)
        if private:
            wanted = mode & ~stat.S_IWGRP | stat.S_IRGRP | (stat.S_IXGRP if is_directory else 0)
            os.fchown(handle, -1, account.group)
        else:
            wanted = mode & ~(stat.S_IWGRP | stat.S_IWOTH) | stat.S_IROTH | (stat.S_IXOTH if is_directory else 0)
        if wanted != mode or private:
            os.fchmod(handle, wanted)


def _walk_open(path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """Yield descriptor and status of every directory and regular file under a path; skip files that disappear."""
    for name, parent in _walk(path):
        with contextlib.suppress(FileNotFoundError):
            if not _is_movable(os.stat(name, dir_fd=parent, follow_symlinks=False)):
                continue
            with _opened(name, parent) as handle:
                found = os.fstat(handle)
                if _is_movable(found):  # the file may have been replaced in the meantime
                    yield handle, found


@contextlib.contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield handle
    finally:
        os.close(handle)


def _is_movable(found: os.stat_result) -> bool:
    """Return True for directories and regular files with one link; a file with more links may belong to other users."""
    return stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1)


def _walk(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the path and everything under it, each as a name and a descriptor of the parent directory."""
    parent = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield path.name, parent
        if path.is_dir():
            for _, directories, files, handle in os.fwalk(path.name, dir_fd=parent):
                for name in (*directories, *files):
                    yield name, handle
    finally:
        os.close(parent)
