"""
Drop root's privileges permanently: change the user, set resource limits and restrict the view of the file system.

In a mount namespace, directories that the user may not enter are covered by tmpfs mounts with only the paths that the
process needs. If mounting is not permitted, the group of all guests gets search permission on those directories
instead. A server that runs as root starts processes as `python -m virtshape.launcher.node.confinement CONFINEMENT
MODULE DIRECTORY`.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from virtshape.launcher.layout import Layout
from virtshape.launcher.node.account import GUEST_USER, Account
from virtshape.launcher.node.acl import grant_search
from virtshape.launcher.node.directories import write_file
from virtshape.launcher.node.limits import limit_process
from virtshape.launcher.report import Report

_CLONE_NEWNS: Final = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_SLAVE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x80000
_PR_SET_NO_NEW_PRIVS: Final = 38
_INNER_MOUNT: Final = "/proc"
"""A mount point that exists on every host."""
_PACKAGE: Final = Path(__file__).parents[2]
_PROGRAM: Final = (sys.prefix, sys.base_prefix, *(path for path in sys.path if path), str(_PACKAGE))

_libc = ctypes.CDLL(None, use_errno=True)


class ConfinementError(Exception):
    """The process cannot drop privileges without losing access to files that it needs."""


class Confinement(Struct, frozen=True, kw_only=True):
    """The account that a process runs as, and the files that it may access."""

    account: Account
    reach: tuple[str, ...] = ()
    """Files and directories that the process needs in addition to those that every user can access."""
    mounts: bool = True
    """Whether mounts hide other files in directories that the account may not enter; if False, file modes must."""


def confine(confinement: Confinement) -> None:
    """Confine this process, which must run as root and have only one thread."""
    account = confinement.account
    needed = dict.fromkeys(candidate for path in confinement.reach for candidate in (Path(path), Path(path).resolve()))
    closed = {
        directory: paths
        for directory, paths in _group_by_closed_directory(needed, account).items()
        if directory is not None
    }
    if closed and confinement.mounts:
        _enter_namespace()
        for directory, paths in closed.items():
            _cover(directory, paths)
    elif closed:
        _grant_passage(closed, account)
    limit_process()
    os.setgroups(account.groups)
    os.setresgid(account.group, account.group, account.group)
    os.setresuid(account.user, account.user, account.user)
    _raise_on_error(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


@cache
def find_mount_obstacle() -> str:
    """Return why child processes cannot have a mount namespace, or an empty string if they can."""
    found = []

    def attempt() -> None:
        try:
            _enter_namespace()
            _mount("tmpfs", "/", "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "mode=0755,size=1m")
        except ConfinementError as error:
            found.append(str(error))

    thread = threading.Thread(target=attempt)  # the kernel removes the namespace when the thread exits
    thread.start()
    thread.join()
    return "".join(found)


def find_closed_directory(path: Path, account: Account) -> Path | None:
    """Return the first parent directory of a path that the account may not enter, or None if it may enter all."""
    return next(_find_closed_directories(path, account), None)


def _find_closed_directories(path: Path, account: Account) -> Iterator[Path]:
    return (parent for parent in reversed(path.parents) if not account.may(parent, 1))


def _group_by_closed_directory(needed: Iterable[Path], account: Account) -> dict[Path | None, list[Path]]:
    grouped: dict[Path | None, list[Path]] = {}
    for path in needed:
        if path.exists():
            grouped.setdefault(find_closed_directory(path, account), []).append(path)
    return grouped


def grant_passage(needed: Iterable[Path], account: Account) -> None:
    """Grant guests search permission on those parent directories of the paths that the account may not enter."""
    found = _group_by_closed_directory(needed, account)
    _grant_passage({directory: paths for directory, paths in found.items() if directory is not None}, account)


def _grant_passage(closed: dict[Path, list[Path]], account: Account) -> None:
    """
    Grant guests search permission on those parent directories of the paths that the account may not enter.

    The group that all guests share gets the permission, because an ACL cannot contain one entry per guest.
    """
    for directory in sorted(
        {
            directory
            for paths in closed.values()
            for path in paths
            for directory in _find_closed_directories(path, account)
        }
    ):
        try:
            grant_search(directory, GUEST_USER if GUEST_USER in account.groups else account.group)
        except OSError as error:
            raise ConfinementError(
                f"guests run as user {account.user}, which may not enter {directory}, and an access control entry"
                f" for it cannot be added ({error.strerror}): run `chmod o+x {directory}`"
                " or choose another data directory"
            ) from error


def _enter_namespace() -> None:
    """Enter a new mount namespace: host mounts still propagate in, but mounts made inside do not propagate out."""
    _raise_on_error(_libc.unshare(_CLONE_NEWNS), "unshare the mount namespace")
    try:
        _mount(None, "/", None, _MS_REC | _MS_SLAVE)
    except ConfinementError:  # in a chroot, / is not a mount point
        _make_root_a_mount()


def _make_root_a_mount() -> None:
    """Change the root to a bind mount of /, at a mount point from which it does not propagate to the host."""
    _mount(None, _INNER_MOUNT, None, _MS_SLAVE)
    _mount("/", _INNER_MOUNT, None, _MS_BIND | _MS_REC)
    _mount(None, _INNER_MOUNT, None, _MS_REC | _MS_SLAVE)
    here = Path.cwd()
    os.chroot(_INNER_MOUNT)
    os.chdir(here)


def _cover(directory: Path, paths: list[Path]) -> None:
    """Cover a directory with a tmpfs that contains only these paths."""
    outermost = [path for path in paths if not any(other in path.parents for other in paths)]
    handles = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in dict.fromkeys(outermost)]
    _mount("tmpfs", str(directory), "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "mode=0755,size=1m")
    for path, handle in handles:
        source = f"/proc/self/fd/{handle}"
        if os.path.isdir(source):  # noqa: PTH112 - the path names a descriptor
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        else:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.touch()
        _mount(source, str(path), None, _MS_BIND | _MS_REC)
        os.close(handle)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    arguments = [text.encode() if text is not None else None for text in (source, target, kind, data)]
    _raise_on_error(
        _libc.mount(arguments[0], arguments[1], arguments[2], ctypes.c_ulong(flags), arguments[3]),
        f"mount over {target}",
    )


def _raise_on_error(status: int, what: str) -> None:
    if status != 0:
        raise ConfinementError(f"{what}: {os.strerror(ctypes.get_errno())}")


def run_confined(confinement: Confinement | None, module: str, directory: Path) -> None:
    """Confine this process if `confinement` is given, then run the module's `main`; exit if confinement fails."""
    try:
        if confinement is not None:
            confine(msgspec.structs.replace(confinement, reach=(*confinement.reach, *_PROGRAM)))
    except ConfinementError as error:
        report = Report(state="failed", reason="NotStarted", message=str(error))
        write_file(Layout(directory).report, msgspec.json.encode(report), directory.stat().st_gid)
        sys.exit(str(error))
    import_module(module).main(directory)


if __name__ == "__main__":
    run_confined(msgspec.json.decode(sys.argv[1], type=Confinement), sys.argv[2], Path(sys.argv[3]))
