"""
Starting a process that outlives this one: a session of its own, a log in place of the terminal, few variables.

Root's processes give up its rights first.
"""

import contextlib
import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from virtshape.launcher.machine.account import Account
from virtshape.launcher.machine.confining import Confinement

_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
_FLAGS: Final = ("-P",)  # the directory that this process happens to be in has no say in what is imported
_ADDED: Final = {"MALLOC_ARENA_MAX": "2", "PYTHONUNBUFFERED": "1"}


def spawn(module: str, directory: Path, log: Path, account: Account, reach: tuple[str, ...] = ()) -> int:
    """Run the module's `main` for a directory, as this account, able to reach these paths; its process id."""
    writing = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return os.posix_spawn(
            sys.executable,
            _write_command(module, directory, account, reach),
            {**{name: os.environ[name] for name in _KEPT if name in os.environ}, **_ADDED},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, writing, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(writing)


def _write_command(module: str, directory: Path, account: Account, reach: tuple[str, ...]) -> list[str]:
    if account.user == os.geteuid():
        return [sys.executable, *_FLAGS, "-m", module, str(directory)]
    confinement = msgspec.json.encode(Confinement(account=account, reach=reach)).decode()
    return [sys.executable, *_FLAGS, "-m", "virtshape.launcher.machine.confined", confinement, module, str(directory)]


def reap(pid: int | None) -> None:
    """Collect a process that has ended, if it is a child of this one."""
    if pid is not None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
