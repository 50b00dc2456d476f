"""
Whether a guest is well, found out again and again: whether others may count on it, and whether it is to go on.

Asks only while the guest runs; what is asked, and what becomes of a guest that is not well, is given from outside.
"""

import logging
import threading
from collections.abc import Callable, Iterator

from virtshape.launcher.check import Check, Checks, Tally
from virtshape.launcher.guest.board import Board

_log = logging.getLogger(__name__)


class Probing:
    """Keeps the report's word on a guest's readiness, and gives up a guest that is not alive."""

    def __init__(
        self, checks: Checks, board: Board, ask: Callable[[Check], str], give_up: Callable[[str], None]
    ) -> None:
        self._checks = checks
        self._board = board
        self._ask = ask
        self._give_up = give_up

    def begin(self) -> None:
        """Ask from now on, until the guest has ended."""
        for name, check, follow in (
            ("readiness", self._checks.readiness, self._follow_readiness),
            ("liveness", self._checks.liveness, self._follow_liveness),
        ):
            if check is not None:
                threading.Thread(target=follow, args=[check], name=name, daemon=True).start()

    def _follow_readiness(self, check: Check) -> None:
        tally = Tally(check, well=not self._board.report.unready)
        for words in self._list_answers(check):
            tally.count(well=not words)
            if tally.well:
                self._board.post(unready="")
            elif words:
                self._board.post(unready=f"the readiness probe fails: {words}")

    def _follow_liveness(self, check: Check) -> None:
        tally = Tally(check, well=True)
        for words in self._list_answers(check):
            tally.count(well=not words)
            if not tally.well:
                _log.warning("the guest is given up: its liveness probe fails: %s", words)
                self._give_up(words)
                return

    def _list_answers(self, check: Check) -> Iterator[str]:
        """What is wrong, or nothing, each time that the guest was asked."""
        seconds = check.delay
        while not self._board.wait_for(lambda report: report.final, seconds):
            seconds = check.period
            if self._board.report.state == "running":
                yield self._ask(check)
