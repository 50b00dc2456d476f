"""
Make a path visible to a running process whose view of the file system is restricted, and hide it again.

The path is mounted into the mount namespace of the process. Without such namespaces, search permission on the
directories that lead to the path is granted instead, and is not revoked.
"""

import contextlib
import ctypes
import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from virtshape.launcher.node.account import Account
from virtshape.launcher.node.confinement import find_mount_obstacle, grant_passage

_CLONE_NEWNS: Final = 0x00020000
_OPEN_TREE, _MOVE_MOUNT = 428, 429
"""System call numbers, the same on all architectures."""
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_RECURSIVE, _OPEN_TREE_CLONE = -100, 0x100, 0x8000, 1
_MOVE_MOUNT_F_EMPTY_PATH, _MOVE_MOUNT_T_EMPTY_PATH = 0x4, 0x40
_MNT_DETACH, _UMOUNT_NOFOLLOW = 0x2, 0x8
_DIRECTORY: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


def reveal(pid: int, path: Path, account: Account) -> None:
    """Make a path visible to a process that runs as this account; raise OSError or ConfinementError on failure."""
    if account.user == os.geteuid():
        return
    if find_mount_obstacle():
        grant_passage([path], account)
        return
    resolved = path.parent.resolve() / path.name
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | _AT_SYMLINK_NOFOLLOW | os.O_CLOEXEC
    tree = _call(_OPEN_TREE, _AT_FDCWD, os.fsencode(resolved), flags)
    try:
        if stat.S_ISLNK(os.fstat(tree).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        _run_inside(pid, lambda: _mount_tree(tree, resolved))
    finally:
        os.close(tree)


def hide(pid: int, path: Path, account: Account) -> None:
    """Remove a path from the view of a process, if it was mounted there."""
    if account.user != os.geteuid() and not find_mount_obstacle():
        resolved = os.fsencode(path.parent.resolve() / path.name)
        _run_inside(pid, lambda: _libc.umount2(resolved, _MNT_DETACH | _UMOUNT_NOFOLLOW))


def _mount_tree(tree: int, path: Path) -> None:
    """Mount a tree at a path without following links, because the process controls its namespace."""
    found = os.fstat(tree)
    target = _open_target(path, is_directory=stat.S_ISDIR(found.st_mode))
    try:
        if not os.path.samestat(os.fstat(target), found):
            _call(_MOVE_MOUNT, tree, b"", target, b"", _MOVE_MOUNT_F_EMPTY_PATH | _MOVE_MOUNT_T_EMPTY_PATH)
    finally:
        os.close(target)


def _open_target(path: Path, *, is_directory: bool) -> int:
    """Open a path, and create it if it is missing."""
    handle = os.open("/", _DIRECTORY)
    try:
        for part in path.parts[1:-1]:
            handle, parent = _open_directory(part, handle), handle
            os.close(parent)
        if is_directory:
            return _open_directory(path.name, handle)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=handle))
        return os.open(path.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=handle)
    finally:
        os.close(handle)


def _open_directory(name: str, parent: int) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
    return os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)


def _run_inside(pid: int, act: Callable[[], object]) -> None:
    """Call a function in the mount namespace of a process, on a separate thread."""
    failures: list[OSError] = []

    def run() -> None:
        try:
            root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            try:
                _require(_libc.unshare(_CLONE_NEWNS))  # setns fails while the thread shares its working directory
                _require(_libc.setns(namespace, _CLONE_NEWNS))
                os.fchdir(root)
                os.chroot(".")
                act()
            finally:
                os.close(root)
                os.close(namespace)
        except OSError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def _call(number: int, *arguments: int | bytes) -> int:
    return _require(_libc.syscall(number, *arguments))


def _require(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
