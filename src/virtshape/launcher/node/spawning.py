"""
Start processes that outlive this one: in their own session, with a log file and a minimal environment.

If this process is root, they drop privileges first.
"""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.node.account import Account
from virtshape.launcher.node.confinement import Confinement, find_mount_obstacle
from virtshape.launcher.node.process import open_log

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


def spawn(module: str, directory: Path, log: Path, confinement: Confinement | None) -> int:
    """Run a module's `main` for a directory, confined if requested, and return the pid."""
    if confinement is None:
        return start_python([module, str(directory)], log)
    text = msgspec.json.encode(confinement).decode()
    return start_python(["virtshape.launcher.node.confined_process", text, module, str(directory)], log)


def confine_to(account: Account, reach: tuple[str, ...]) -> Confinement | None:
    """Return the confinement of a process that runs as this account; None if this process runs as it too."""
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
    """Reap a process that has ended, if it is a child of this one."""
    if pid is not None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
