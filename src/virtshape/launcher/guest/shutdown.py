"""Graceful shutdown: request a shutdown repeatedly until the grace period expires, then kill the guest."""

import threading
import time
from collections.abc import Callable
from typing import Final

from virtshape.launcher.threads import NotePublisher, start_thread

FIELD: Final = "spec.terminationGracePeriodSeconds"
RETRY_SECONDS: Final = 5.0
"""How often to repeat the request: a guest that is still booting ignores the power button."""


class GracefulShutdown:
    """Stops a guest once requested; a later request can only shorten the remaining time."""

    def __init__(
        self, shut_down: Callable[[], None], expire: Callable[[float], None], notes: NotePublisher | None = None
    ) -> None:
        self._shut_down = shut_down
        self._expire = expire
        self._changed = threading.Condition()
        self._deadline = float("inf")
        self._grace = 0.0
        self._closed = False
        self._notes = notes
        self._is_started = False
        self._attempt: threading.Thread | None = None

    def request(self, grace: float) -> None:
        """Shut the guest down, and kill it after `grace` seconds."""
        with self._changed:
            deadline = time.monotonic() + grace
            if deadline >= self._deadline or self._closed:
                return
            self._deadline, self._grace = deadline, grace
            self._changed.notify_all()
            if not self._is_started:
                self._is_started = True
                start_thread(self._run, "ending the grace period", field=FIELD, notes=self._notes)

    def close(self) -> None:
        """Stop both threads after the guest has stopped or was killed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        next_attempt = time.monotonic()
        while True:
            with self._changed:
                now = time.monotonic()
                if self._closed:
                    return
                if now < min(self._deadline, next_attempt):
                    self._changed.wait(min(self._deadline, next_attempt) - now)
                    continue
                expired = now >= self._deadline
            if expired:
                self._expire(self._grace)
                self.close()
                return
            next_attempt += RETRY_SECONDS
            self._try_shutdown()

    def _try_shutdown(self) -> None:
        """Request a shutdown on another thread: libvirt waits for QEMU, which may never answer."""
        if self._attempt is None or not self._attempt.is_alive():
            self._attempt = start_thread(self._request_shutdown, "stopping the guest", field=FIELD, notes=self._notes)

    def _request_shutdown(self) -> None:
        if not self._closed:
            self._shut_down()
