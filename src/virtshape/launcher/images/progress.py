"""
Progress callbacks for long operations, which can also cancel the operations.

Functions that take a `Progress` call it a few times a second, in their own thread. An exception from the callback
cancels the operation: temporary files are removed, and the target is not created.
"""

from collections.abc import Callable
from threading import Event

from virtshape.launcher.images.errors import StoppedError

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes done and the total, or None if that is unknown."""


def ignore(_done: int, _total: int | None) -> None:
    """Ignore the progress."""


def until(stop: Event, progress: Progress = ignore) -> Progress:
    """Return a callback that forwards progress, and raises StoppedError once the event is set."""

    def report(done: int, total: int | None) -> None:
        if stop.is_set():
            raise StoppedError("stopped on request")
        progress(done, total)

    return report
