"""
What launcher processes may use of the machine: no core files, enough open files, and locks and priorities if they can.

Root can give more than it has only with a capability that containers seldom leave it.
"""

import os
import resource
from pathlib import Path
from typing import Final

REALTIME_PRIORITY: Final = 1
"""The most urgent that guests may be, of those that are more urgent than everything else."""
_MAX_FILES: Final = 16384
_CAP_SYS_RESOURCE: Final = 1 << 24


def limit_process() -> None:
    """Set the limits of this process, which is still root's."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MAX_FILES if most == resource.RLIM_INFINITY else min(most, _MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    if may_lock_memory():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if may_use_realtime():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (REALTIME_PRIORITY, REALTIME_PRIORITY))


def may_lock_memory() -> bool:
    """Whether launcher processes of this one can keep their guests' memory from being paged out."""
    return _may_raise() or resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == resource.RLIM_INFINITY


def may_use_realtime() -> bool:
    """Whether launcher processes of this one can give their guests realtime priority."""
    most = resource.getrlimit(resource.RLIMIT_RTPRIO)[1]
    return _may_raise() or most == resource.RLIM_INFINITY or most >= REALTIME_PRIORITY


def _may_raise() -> bool:
    return os.geteuid() == 0 and bool(_read_capabilities(Path("/proc/self/status").read_text()) & _CAP_SYS_RESOURCE)


def _read_capabilities(status: str) -> int:
    return next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
