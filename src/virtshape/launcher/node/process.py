"""Names and logs of launcher processes."""

import ctypes
import hashlib
import os
from pathlib import Path
from typing import Final

_PR_SET_NAME: Final = 15


def get_process_name(directory: Path) -> str:
    """
    Return the name of the launcher process of a guest's directory, of at most 15 bytes.

    Every process may read it, unlike the working directory.
    """
    return f"vm-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}"


def set_process_name(name: str) -> None:
    """Set the name of this process and of the processes that it forks."""
    _libc.prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def open_log(path: Path) -> int:
    """Open a log file for appending and return its descriptor; guests can neither read nor replace the file."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


_libc = ctypes.CDLL(None)
