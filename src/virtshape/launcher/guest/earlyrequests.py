"""
Handle requests that arrive before the guest has started, or before a new launcher process has found its running guest.

Status requests get the report immediately, stop and kill cancel the start, and all other requests wait for the start.
"""

import threading
from collections.abc import Callable
from typing import Final

from virtshape.launcher.controlprotocol import Answer, Kill, Request, Status, Stop, Watch
from virtshape.launcher.guest.planprocess import Preparation
from virtshape.launcher.guest.reportpublisher import ReportPublisher

TIMEOUT_SECONDS: Final = 10.0


class EarlyRequestHandler:
    """Handles requests to a launcher process while its guest is being prepared."""

    def __init__(self, reports: ReportPublisher, preparation: Preparation | None) -> None:
        self._reports = reports
        self._preparation = preparation
        self._lock = threading.RLock()
        self.stop: float | None = None
        """Grace period in seconds of a requested stop, in case the guest starts anyway; None without a request."""
        self._next_handler: Callable[[Request], Answer] | None = None
        self._finished = threading.Event()

    def finish(self, next_handler: Callable[[Request], Answer] | None = None) -> None:
        """Pass further requests to the next handler; if None, answer that the guest has stopped."""
        with self._lock:
            self._next_handler = self._next_handler or next_handler
            self._finished.set()

    def answer(self, request: Request) -> Answer:
        """Handle a request."""
        match request:
            case Status() | Watch():
                return Answer(report=self._reports.report)
            case Stop(grace=grace) if self._cancel(grace):
                return Answer(report=self._reports.report)
            case Kill() if self._cancel(0.0):
                return Answer(report=self._reports.report)
            case _:
                return self._wait(request)

    def _wait(self, request: Request) -> Answer:
        if not self._finished.wait(TIMEOUT_SECONDS):
            return Answer(error="the guest has not started yet", report=self._reports.report)
        if self._next_handler is None:
            return Answer(error="the guest has ended", report=self._reports.report)
        return self._next_handler(request)

    def _cancel(self, grace: float) -> bool:
        """Cancel the start, or request a stop right after it; return False if the start is finished."""
        with self._lock:
            if self._finished.is_set():
                return False
            self.stop = grace if self.stop is None else min(grace, self.stop)
        if self._preparation is not None:
            self._preparation.cancel()
        return True
