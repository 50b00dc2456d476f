"""
Giving up root's rights for good: a user of one's own, limits, and a view of the files that leaves out the rest.

Directories that are closed to the user are covered, in a mount namespace of the process, by ones that lead only to
what it needs. Nothing outside the process changes.
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.launcher.machine.account import Account
from virtshape.launcher.machine.limits import limit_process

_CLONE_NEWNS: Final = 0x00020000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_SLAVE = 0x2, 0x4, 0x8, 0x1000, 0x4000, 0x80000
_PR_SET_NO_NEW_PRIVS: Final = 38


class ConfinementError(Exception):
    """A process that cannot give up its rights and still work, and why."""


class Confinement(Struct, frozen=True, kw_only=True):
    """What a process keeps."""

    account: Account
    reach: tuple[str, ...] = ()
    """Files and directories that it needs, beside those that everybody can reach."""


def confine(confinement: Confinement) -> None:
    """Confine this process, which is root's and has one thread."""
    account = confinement.account
    needed = dict.fromkeys(way for path in confinement.reach for way in (Path(path), Path(path).resolve()))
    closed = {gate: paths for gate, paths in _group_by_gate(needed, account).items() if gate is not None}
    if closed:
        _open_namespace(next(iter(closed)))
        for gate, paths in closed.items():
            _cover(gate, paths)
    limit_process()
    os.setgroups(account.groups)
    os.setresgid(account.group, account.group, account.group)
    os.setresuid(account.user, account.user, account.user)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def find_gate(path: Path, account: Account) -> Path | None:
    """The first directory on the way to a path that the account may not enter; None if the way is open."""
    return next((parent for parent in reversed(path.parents) if not account.may(parent, 1)), None)


def _group_by_gate(needed: Iterable[Path], account: Account) -> dict[Path | None, list[Path]]:
    grouped: dict[Path | None, list[Path]] = {}
    for path in needed:
        if path.exists():
            grouped.setdefault(find_gate(path, account), []).append(path)
    return grouped


def _open_namespace(gate: Path) -> None:
    """Have mounts of one's own from now on."""
    if _libc.unshare(_CLONE_NEWNS) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise ConfinementError(
            f"guests do not run as root, and {gate} is closed to others; it cannot be opened for them alone, since"
            f" mount namespaces are not allowed here ({reason}). Choose a data directory that everybody can enter"
        )
    _mount(None, "/", None, _MS_REC | _MS_SLAVE)


def _cover(gate: Path, paths: list[Path]) -> None:
    """Put a directory over the gate in which there is nothing but the way to these paths."""
    outermost = [path for path in paths if not any(other in path.parents for other in paths)]
    handles = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in dict.fromkeys(outermost)]
    _mount("tmpfs", str(gate), "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "mode=0755,size=1m")
    for path, handle in handles:
        source = f"/proc/self/fd/{handle}"
        if os.path.isdir(source):  # noqa: PTH112 - the path of a handle is no path of the machine
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
        else:
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.touch()
        _mount(source, str(path), None, _MS_BIND | _MS_REC)
        os.close(handle)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [text.encode() if text is not None else None for text in (source, target, kind, data)]
    _check(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]), f"mount over {target}")


def _check(status: int, what: str) -> None:
    if status != 0:
        raise ConfinementError(f"{what}: {os.strerror(ctypes.get_errno())}")


_libc = ctypes.CDLL(None, use_errno=True)
