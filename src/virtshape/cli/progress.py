"""Progress on a terminal: a line that is shown after two seconds, and a bar for uploads."""

import sys
import time
from typing import Final

_DELAY: Final = 2.0
_PAUSE: Final = 0.1
_CLEAR: Final = "\r\x1b[K"
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_MIN_WIDTH: Final = 10


class Progress:
    """A line on standard error that is redrawn; nothing is shown if standard error is not a terminal."""

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


class ProgressBar:
    """A bar on standard error that is redrawn; nothing is shown if standard error is not a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._began = time.monotonic()
        self._next = 0.0 if sys.stderr.isatty() else float("inf")

    def show(self, done: int) -> None:
        """Show how many bytes are done."""
        now = time.monotonic()
        if now >= self._next or (done == self._total and self._next != float("inf")):
            self._next = now + _PAUSE
            import shutil  # few commands show a bar

            columns = shutil.get_terminal_size().columns
            sys.stderr.write(_CLEAR + draw_bar(done, self._total, now - self._began, columns))
            sys.stderr.flush()

    def finish(self) -> None:
        """Move to the next line if the bar was shown."""
        if self._next not in (0.0, float("inf")):
            sys.stderr.write("\n")
            sys.stderr.flush()


def draw_bar(done: int, total: int, seconds: float, columns: int) -> str:
    """Return the bar as text for a terminal width."""
    share = done / total if total else 1.0
    left = f"{format_size(done)} / {format_size(total)} "
    right = f" {share:.2%} {_format_time(seconds, share)}"
    room = max(columns - len(left) - len(right) - 3, _MIN_WIDTH)
    filled = int(room * share)
    head = "=" * (filled - 1) + ">" if 0 < filled < room else "=" * filled
    return f"{left}[{head:-<{room}}]{right}"


def format_size(size: float) -> str:
    """Return a number of bytes in human-readable form."""
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size /= 1024
        power += 1
    return f"{size:.2f} {_UNITS[power]}" if power else f"{size:.0f} B"


def _format_time(seconds: float, share: float) -> str:
    """Return the remaining time, or the total time when done."""
    left = seconds if share >= 1 or not share else seconds * (1 - share) / share
    minutes, rest = divmod(round(left), 60)
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
