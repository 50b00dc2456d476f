"""
Processes that libvirt starts and leaves to whoever adopts orphans: this process does, and sees how they end.

Nothing else would tell their exit codes, and libvirt takes a process that nobody has collected for a live one.
"""

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36
_PAUSE_SECONDS: Final = 0.02


def adopt_orphans(tell: Callable[[int, int], None]) -> None:
    """Adopt orphans from now on; `tell` is given the process id and the exit code of each that ends, on a thread."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "orphans cannot be adopted")
    threading.Thread(target=_collect, args=(tell,), name="orphans", daemon=True).start()


def _collect(tell: Callable[[int, int], None]) -> None:
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:  # no child yet
            ended = None
        if ended is None or not _is_orphan(ended.si_pid):
            time.sleep(_PAUSE_SECONDS)
            continue
        _, status = os.waitpid(ended.si_pid, 0)
        tell(ended.si_pid, os.waitstatus_to_exitcode(status))


def _is_orphan(pid: int) -> bool:
    """Whether nobody waits for the process: it has left this session, and is not a fork of ours for libvirt."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # somebody has waited for it
        return False
    name, rest = stat[stat.index("(") + 1 :].rsplit(")", 1)
    session = int(rest.split()[3])
    if session == os.getsid(0):
        return False
    return session != pid or name != _own_name()


def _own_name() -> str:
    return Path("/proc/self/comm").read_text().strip()
