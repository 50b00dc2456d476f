"""
Make a path visible to a running process whose view of the file system is restricted, and hide it again.

The path is mounted into the mount namespace of the process. Without such namespaces, search permission on the
directories that lead to the path is enough, and stays.
"""

import ctypes
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
_AT_FDCWD, _AT_RECURSIVE, _OPEN_TREE_CLONE = -100, 0x8000, 1
_MOVE_MOUNT_F_EMPTY_PATH: Final = 4
_MNT_DETACH: Final = 2
_libc = ctypes.CDLL(None, use_errno=True)


def reveal(pid: int, path: Path, account: Account) -> None:
    """Make a path visible to a process that runs as this account; raise OSError or ConfinementError on failure."""
    if account.user == os.geteuid():
        return
    if find_mount_obstacle():
        grant_passage([path], account)
        return
    tree = _call(_OPEN_TREE, _AT_FDCWD, os.fsencode(path), _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC)
    try:
        _run_inside(pid, lambda: _mount_tree(tree, path))
    finally:
        os.close(tree)


def hide(pid: int, path: Path, account: Account) -> None:
    """Remove a path from the view of a process, if it was mounted there."""
    if account.user != os.geteuid() and not find_mount_obstacle():
        _run_inside(pid, lambda: _libc.umount2(os.fsencode(path), _MNT_DETACH))


def _mount_tree(tree: int, path: Path) -> None:
    found = os.fstat(tree)
    if path.exists() and os.path.samestat(path.stat(), found):
        return
    if stat.S_ISDIR(found.st_mode):
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    else:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        path.touch()
    _call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(path), _MOVE_MOUNT_F_EMPTY_PATH)


def _run_inside(pid: int, act: Callable[[], object]) -> None:
    """Call a function in the mount namespace of a process, on a thread of its own."""
    failures: list[OSError] = []

    def run() -> None:
        try:
            root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
            try:
                _require(_libc.unshare(_CLONE_NEWNS))  # a thread that shares its directory cannot change namespaces
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
