"""
Background threads of a launcher process.

If a thread's function raises, the failure is logged, the first time with a traceback, and the function is restarted
with back-off. Until the function works again, a note in the guest's report says which function failed.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from virtshape.launcher.report import Note
from virtshape.supervise.failures import Backoff, describe_error, identify_error

BACKOFF: Final = Backoff(first=0.5, longest=10.0, healthy=60.0)
_log = logging.getLogger(__name__)


class NotePublisher(Protocol):
    """Publishes notes in the guest's report."""

    def replace_note(self, old: Note | None, new: Note | None) -> None:
        """Replace a note; add `new` if `old` is None, and remove `old` if `new` is None."""


def start_thread(
    run: Callable[[], None], name: str, *, field: str = "", notes: NotePublisher | None = None
) -> threading.Thread:
    """
    Run a function on a daemon thread; if the function raises, run it again until it returns.

    `name` says what the thread does, in logs and notes; `field` is the field of the instance that a failure affects.
    """
    worker = _Worker(run, name, field, notes)
    thread = threading.Thread(target=worker.run_until_done, name=name, daemon=True)
    thread.start()
    return thread


class _Worker:
    """Runs a thread's function, and counts and reports its failures."""

    def __init__(self, run: Callable[[], None], name: str, field: str, notes: NotePublisher | None) -> None:
        self._run = run
        self._name = name
        self._field = field
        self._notes = notes
        self._note: Note | None = None
        self._lock = threading.Lock()
        self._failures = 0
        self._logged: set[str] = set()

    def run_until_done(self) -> None:
        """Run the function until it returns; after an exception, restart the function with back-off."""
        while (error := self._run_once()) is not None:
            time.sleep(self._note_failure(error))
        self._note_recovery()

    def _run_once(self) -> Exception | None:
        """Run the function; return the function's exception, or None if it returns."""
        recovery = threading.Timer(BACKOFF.healthy, self._note_recovery)
        recovery.daemon = True
        if self._failures:
            recovery.start()
        try:
            self._run()
        except Exception as error:  # noqa: BLE001 - the caller logs it
            return error
        finally:
            recovery.cancel()
        return None

    def _note_failure(self, error: Exception) -> float:
        """Log and publish a failure; return the seconds until the restart."""
        with self._lock:
            self._failures += 1
            delay = BACKOFF.delay(self._failures)
            signature = identify_error(error)
            is_new = signature not in self._logged
            self._logged.add(signature)
            reason = describe_error(error)
            _log.error(
                "%s failed: %s; retrying in %.1f s", self._name, reason, delay, exc_info=error if is_new else None
            )
            self._publish(Note(self._field, f"{self._name} failed: {reason}; trying again"))
            return delay

    def _note_recovery(self) -> None:
        with self._lock:
            if self._failures:
                _log.info("%s works again", self._name)
                self._failures = 0
                self._logged.clear()
                self._publish(None)

    def _publish(self, note: Note | None) -> None:
        if self._notes is not None:
            self._notes.replace_note(self._note, note)
            self._note = note
