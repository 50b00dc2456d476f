"""
Requests that come before a guest has started.

Nothing can be done to it yet but to keep it from starting.
"""

import threading

from virtshape.launcher.process.board import Board
from virtshape.launcher.process.preparing import Preparation
from virtshape.launcher.request import Answer, Kill, Request, Status, Stop, Watch


class Starting:
    """Answers requests about a guest that is being prepared."""

    def __init__(self, board: Board, preparation: Preparation | None) -> None:
        self._board = board
        self._preparation = preparation
        self._lock = threading.Lock()
        self.stop: float | None = None
        """Seconds of grace that a guest is to get which starts in spite of a request to stop."""

    def answer(self, request: Request) -> Answer:
        """Do what can be done."""
        match request:
            case Stop(grace=grace):
                self._cancel(grace)
            case Kill():
                self._cancel(0.0)
            case Status() | Watch():
                pass
            case _:
                return Answer(error="the guest has not started yet", report=self._board.report)
        return Answer(report=self._board.report)

    def _cancel(self, grace: float) -> None:
        with self._lock:
            self.stop = grace if self.stop is None else min(grace, self.stop)
        if self._preparation is not None:
            self._preparation.cancel()
