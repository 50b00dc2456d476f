"""
Reap orphaned processes that libvirt starts, such as QEMU, and report their exit codes.

libvirt daemonizes QEMU, so only a child subreaper sees its exit code; libvirt considers an unreaped process to be
alive. libvirt itself reaps the children that it waits for.
"""

import contextlib
import ctypes
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from virtshape.launcher.threads import NotePublisher, start_thread

_PR_SET_CHILD_SUBREAPER: Final = 36
_POLL_SECONDS: Final = 0.02
UNCLAIMED_SECONDS: Final = 3.0
"""Age at which a zombie counts as unclaimed; libvirt immediately reaps the children that it waits for."""


class Ended(NamedTuple):
    """A child process that has exited and has not been reaped yet."""

    pid: int
    name: str
    session: int


def adopt_orphans(on_exit: Callable[[int, int], None], notes: NotePublisher) -> None:
    """Become a child subreaper, and call `on_exit` on a thread with the process ID and exit code of each orphan."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "setting the child subreaper failed")
    start_thread(partial(_collect, on_exit), "collecting exit codes", field="status.phase", notes=notes)


def _collect(on_exit: Callable[[int, int], None]) -> None:
    seen: dict[int, float] = {}
    while True:
        with contextlib.suppress(ChildProcessError):  # there is no child process yet
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        now = time.monotonic()
        ended = list(list_ended(os.getpid()))
        seen = {one.pid: seen.get(one.pid, now) for one in ended}
        for one in ended:
            if _is_orphan(one) or now - seen[one.pid] > UNCLAIMED_SECONDS:
                with contextlib.suppress(ChildProcessError):  # libvirt has already reaped the child
                    _, status = os.waitpid(one.pid, os.WNOHANG)
                    on_exit(one.pid, os.waitstatus_to_exitcode(status))
        time.sleep(_POLL_SECONDS)


def list_ended(parent: int, proc: Path = Path("/proc")) -> Iterator[Ended]:
    """Yield the children of a process that have exited but have not been reaped."""
    for directory in proc.iterdir():
        if not directory.name.isdecimal():
            continue
        with contextlib.suppress(OSError):  # the child was reaped in the meantime
            text = (directory / "stat").read_text()
            name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
            state, parent_pid, _, session, *_ = rest.split()
            if state == "Z" and int(parent_pid) == parent:
                yield Ended(int(directory.name), name, int(session))


def _is_orphan(ended: Ended) -> bool:
    """Return True if libvirt does not wait for the child: the child left this session and is not a fork of libvirt."""
    if ended.session == os.getsid(0):
        return False
    return ended.session != ended.pid or ended.name != _get_own_name()


def _get_own_name() -> str:
    return Path("/proc/self/comm").read_text().strip()
