"""Names of launcher processes, which every process may read, unlike their working directory."""

import ctypes
import hashlib
from pathlib import Path
from typing import Final

_PR_SET_NAME: Final = 15


def get_process_name(directory: Path) -> str:
    """Return the name of the launcher process of a guest's directory; the kernel keeps 15 bytes of a name."""
    return f"vm-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}"


def set_process_name(name: str) -> None:
    """Name this process, and the processes that it forks."""
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


_libc = ctypes.CDLL(None)
