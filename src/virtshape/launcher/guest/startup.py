"""
Requests that come before a guest has started, or before it is found again.

Nothing can be done to it yet but to keep it from starting; everything else waits.
"""

import threading
from collections.abc import Callable
from typing import Final

from virtshape.launcher.guest.preparation import Preparation
from virtshape.launcher.guest.reports import ReportPublisher
from virtshape.launcher.request import Answer, Kill, Request, Status, Stop, Watch

TIMEOUT_SECONDS: Final = 10.0


class StartupHandler:
    """Answers requests about a guest that is being prepared."""

    def __init__(self, reports: ReportPublisher, preparation: Preparation | None) -> None:
        self._reports = reports
        self._preparation = preparation
        self._lock = threading.RLock()
        self.stop: float | None = None
        """Seconds of grace that a guest is to get which starts in spite of a request to stop."""
        self._next_handler: Callable[[Request], Answer] | None = None
        self._finished = threading.Event()

    def finish(self, next_handler: Callable[[Request], Answer] | None = None) -> None:
        """Have requests answered in another way from now on, or told that they come too late."""
        with self._lock:
            self._next_handler = self._next_handler or next_handler
            self._finished.set()

    def answer(self, request: Request) -> Answer:
        """Do what can be done."""
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
        """Keep the guest from starting, or have it stop as soon as it has; False if it has already."""
        with self._lock:
            if self._finished.is_set():
                return False
            self.stop = grace if self.stop is None else min(grace, self.stop)
        if self._preparation is not None:
            self._preparation.cancel()
        return True
