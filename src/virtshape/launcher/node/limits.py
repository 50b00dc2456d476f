"""
Resource limits of launcher processes: core files, open files, locked memory and realtime priority.

Raising a hard limit needs CAP_SYS_RESOURCE, which most containers drop.
"""

import os
import resource
from pathlib import Path
from typing import Final

REALTIME_PRIORITY: Final = 1
"""The highest realtime priority that guests may use."""
_MAX_FILES: Final = 16384
_CAP_SYS_RESOURCE: Final = 1 << 24


def limit_process() -> None:
    """Set the limits of this process while it still runs as root."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MAX_FILES if most == resource.RLIM_INFINITY else min(most, _MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    if may_lock_memory():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    if may_use_realtime():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (REALTIME_PRIORITY, REALTIME_PRIORITY))


def may_lock_memory() -> bool:
    """Return True if launcher processes can lock their guests' memory."""
    return _may_raise() or resource.getrlimit(resource.RLIMIT_MEMLOCK)[1] == resource.RLIM_INFINITY


def may_use_realtime() -> bool:
    """Return True if launcher processes can run their guests with realtime priority."""
    most = resource.getrlimit(resource.RLIMIT_RTPRIO)[1]
    return _may_raise() or most == resource.RLIM_INFINITY or most >= REALTIME_PRIORITY


def _may_raise() -> bool:
    return os.geteuid() == 0 and bool(_read_capabilities(Path("/proc/self/status").read_text()) & _CAP_SYS_RESOURCE)


def _read_capabilities(status: str) -> int:
    return next((int(line.split()[1], 16) for line in status.splitlines() if line.startswith("CapEff:")), 0)
