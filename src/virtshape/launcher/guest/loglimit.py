"""
Limit the size of a guest's log files, which grow for as long as the guest writes to its serial console.

QEMU keeps the files open for appending, so they are shortened in place: only the end of each file is preserved.
"""

import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from virtshape.launcher.threads import NotePublisher, start_thread

MAX_LOG_BYTES: Final = 16 * 1024 * 1024
KEPT_BYTES: Final = 1024 * 1024
CHECK_SECONDS: Final = 1.0
NOTE: Final = b"[older output was discarded]\n"
_BLOCK_BYTES: Final = 512
_log = logging.getLogger(__name__)


def limit_log(path: Path, most: int = MAX_LOG_BYTES, kept: int = KEPT_BYTES) -> bool:
    """Shorten a log that occupies more than `most` bytes to its last `kept` bytes; return True if it was shortened."""
    try:
        log = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        status = os.fstat(log)
        if status.st_blocks * _BLOCK_BYTES <= most:
            return False
        end = os.pread(log, kept, max(0, status.st_size - kept))
        os.ftruncate(log, 0)
        os.write(log, NOTE + end)
        return True
    finally:
        os.close(log)


def limit_logs_forever(
    paths: Sequence[Path],
    *,
    most: int = MAX_LOG_BYTES,
    kept: int = KEPT_BYTES,
    seconds: float = CHECK_SECONDS,
    notes: NotePublisher | None = None,
) -> None:
    """Limit the logs in a background thread for as long as the process runs."""

    def run() -> None:
        pause = threading.Event()
        failed: set[Path] = set()
        while not pause.wait(seconds):
            for path in paths:
                try:
                    limit_log(path, most, kept)
                except OSError as error:
                    if path not in failed:
                        _log.warning("limiting %s failed: %s; retrying every %g s", path, error, seconds)
                        failed.add(path)

    start_thread(run, "limiting the logs", field="spec.domain.devices.logSerialConsole", notes=notes)
