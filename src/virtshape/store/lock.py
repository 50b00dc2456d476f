"""One process per data directory: a file lock that the kernel drops when its holder ends, however it ends."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from virtshape.store.errors import LockedError

_FILE: Final = "lock"
# Whoever asks for the holder has the lock shared for a moment: that is no reason to refuse.
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.02


class Lock:
    """Holds `DIR/lock` until closed; the file names the holder's process."""

    def __init__(self, directory: Path) -> None:
        self._file = os.open(directory / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not _take(self._file):
            holder = os.read(self._file, 32).decode().strip()
            os.close(self._file)
            raise LockedError(f"{directory} is in use by process {holder or 'unknown'}")
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        """Let others have the directory."""
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
    """The process that has the data directory, if one does."""
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
