"""Lock file that limits a data directory to one process; the kernel releases the lock when the process ends."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from virtshape.store.errors import LockedError

_FILE: Final = "lock"
# Locking is retried, because `find_holder` holds a shared lock for a moment.
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.02


class Lock:
    """A lock on the file `DIR/lock`, which is held until `close`; the file contains the process ID of the holder."""

    def __init__(self, directory: Path) -> None:
        self._file = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _take(self._file):
            holder = os.read(self._file, 32).decode().strip()
            os.close(self._file)
            raise LockedError(f"{directory} is in use by process {holder or 'unknown'}")
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)


def _take(file: int) -> bool:
    for attempt in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt < _TRIES - 1:
                time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


def find_holder(directory: Path) -> int | None:
    """Return the ID of the process that uses the data directory; None if no process uses it or the ID is unknown."""
    try:
        file = os.open(directory / _FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.read(file, 32) or 0) or None
    else:
        return None
    finally:
        os.close(file)
