"""A progress line on a terminal, shown after two seconds."""

import sys
import time
from typing import Final

_DELAY: Final = 2.0
_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class Progress:
    """A line on standard error that is redrawn; nothing is shown if it is not a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + _DELAY if sys.stderr.isatty() else float("inf")
        self._is_shown = False

    def show(self, done: int, total: int | None = None) -> None:
        """Show how much is done, and the total if known."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _PAUSE
            self._is_shown = True
            sys.stderr.write(f"{_CLEAR}{self._what}: {done}" + (f" of {total}" if total is not None else ""))
            sys.stderr.flush()

    def clear(self) -> None:
        """Erase the line."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
