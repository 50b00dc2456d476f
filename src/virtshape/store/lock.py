"""One process per data directory: a file lock that the kernel drops when its holder ends, however it ends."""

import fcntl
import os
from pathlib import Path

from virtshape.store.errors import LockedError


class Lock:
    """Holds `DIR/lock` until closed; the file names the holder's process."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._file, 32).decode().strip()
            os.close(self._file)
            raise LockedError(f"{directory} is in use by process {holder or 'unknown'}") from None
        os.ftruncate(self._file, 0)
        os.write(self._file, f"{os.getpid()}\n".encode())

    def close(self) -> None:
        """Let others have the directory."""
        os.close(self._file)


def find_holder(directory: Path) -> int | None:
    """The process that has the data directory, if one does."""
    try:
        lock = Lock(directory)
    except LockedError:
        return int((directory / "lock").read_text())
    except FileNotFoundError:
        return None
    lock.close()
    return None
