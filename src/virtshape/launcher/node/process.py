"""
Start processes that outlive this process, in their own session, with a name, a log file and a minimal environment.

If this process runs as root, the new processes drop privileges first.
"""

import contextlib
import ctypes
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.node.account import Account
from virtshape.launcher.node.confinement import Confinement, find_mount_obstacle

_KEPT_VARIABLES: Final = (
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "PYTHONPATH",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONPYCACHEPREFIX",
)
_FLAGS: Final = ("-P",)  # modules are not imported from the current directory
_ADDED_VARIABLES: Final = {"MALLOC_ARENA_MAX": "2", "PYTHONUNBUFFERED": "1"}
_PR_SET_NAME: Final = 15
_libc = ctypes.CDLL(None)


def spawn(module: str, directory: Path, log: Path, confinement: Confinement | None) -> int:
    """Start a process that runs a module's `main` for a directory, confined if requested, and return its pid."""
    if confinement is None:
        return start_python([module, str(directory)], log)
    text = msgspec.json.encode(confinement).decode()
    return start_python(["virtshape.launcher.node.confinement", text, module, str(directory)], log)


def confine_to(account: Account, reach: tuple[str, ...]) -> Confinement | None:
    """Return the confinement of a process that runs as this account; None if this process has the same user."""
    if account.user == os.geteuid():
        return None
    return Confinement(account=account, reach=reach, mounts=not find_mount_obstacle())


def start_python(arguments: Sequence[str], log: Path, handle: int | None = None) -> int:
    """Start a Python module with arguments and return the pid; `handle` becomes file descriptor 3."""
    log_descriptor = open_log(log)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, log_descriptor, 1),
        (os.POSIX_SPAWN_DUP2, log_descriptor, 2),
    ]
    if handle is not None:
        actions.append((os.POSIX_SPAWN_DUP2, handle, 3))
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, *_FLAGS, "-m", *arguments],
            {**environment, **_ADDED_VARIABLES},
            file_actions=actions,
            setsid=True,
        )
    finally:
        os.close(log_descriptor)


def reap(pid: int | None) -> None:
    """Reap a process that has exited, if it is a child of this one."""
    if pid is not None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def get_process_name(directory: Path) -> str:
    """
    Return the name of the launcher process for a guest's directory; the name has at most 15 bytes.

    Every process may read the name, unlike the working directory.
    """
    return f"vm-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}"


def set_process_name(name: str) -> None:
    """Set the name of this process and of the processes that it forks."""
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def open_log(path: Path) -> int:
    """Open a log file for appending and return its descriptor; guests can neither read nor replace the file."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
