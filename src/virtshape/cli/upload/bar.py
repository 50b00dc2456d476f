"""
A bar on a terminal that fills while a file is sent, with how much, how far and how long still.

Shows nothing where standard error is no terminal.
"""

import shutil
import sys
import time
from typing import Final

_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_LEAST: Final = 10


class Bar:
    """The bar, drawn over itself."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._began = time.monotonic()
        self._next = 0.0 if sys.stderr.isatty() else float("inf")

    def show(self, done: int) -> None:
        """Say how much is done."""
        now = time.monotonic()
        if now >= self._next or (done == self._total and self._next != float("inf")):
            self._next = now + _PAUSE
            columns = shutil.get_terminal_size().columns
            sys.stderr.write(_CLEAR + draw(done, self._total, now - self._began, columns))
            sys.stderr.flush()

    def finish(self) -> None:
        """Leave the bar where it is, and go on below."""
        if self._next not in (0.0, float("inf")):
            sys.stderr.write("\n")
            sys.stderr.flush()


def draw(done: int, total: int, seconds: float, columns: int) -> str:
    """The bar as text that fits into so many columns."""
    share = done / total if total else 1.0
    left = f"{format_size(done)} / {format_size(total)} "
    right = f" {share:.2%} {_format_time(seconds, share)}"
    room = max(columns - len(left) - len(right) - 3, _LEAST)
    filled = int(room * share)
    head = "=" * (filled - 1) + ">" if 0 < filled < room else "=" * filled
    return f"{left}[{head:-<{room}}]{right}"


def format_size(size: float) -> str:
    """A number of bytes for people."""
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size /= 1024
        power += 1
    return f"{size:.2f} {_UNITS[power]}" if power else f"{size:.0f} B"


def _format_time(seconds: float, share: float) -> str:
    """How long it took, once it is done, or how long it will still take."""
    left = seconds if share >= 1 or not share else seconds * (1 - share) / share
    minutes, rest = divmod(round(left), 60)
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
