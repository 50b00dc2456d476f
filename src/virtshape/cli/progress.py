"""
A line on a terminal that says how far a long command has come.

Shows nothing before two seconds have passed, and nothing where standard error is no terminal.
"""

import sys
import time
from typing import Final

_PATIENCE: Final = 2.0
_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """The line, drawn over itself."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + _PATIENCE if sys.stderr.isatty() else float("inf")
        self._is_shown = False

    def show(self, done: int, total: int | None = None) -> None:
        """Say how much is done, and of how much if that is known."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PAUSE
            self._is_shown = True
            sys.stderr.write(f"{_CLEAR}{self._what}: {done}" + (f" of {total}" if total is not None else ""))
            sys.stderr.flush()

    def clear(self) -> None:
        """Make room for something else."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
