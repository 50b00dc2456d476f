"""
Progress callbacks for long operations, which can also cancel the operations.

Functions with a `Progress` parameter call it a few times a second, in their own thread. An exception from the callback
cancels the operation: the target is not created, and temporary files are removed unless they can be resumed.
"""

from collections.abc import Callable
from threading import Event

from virtshape.launcher.images.errors import StoppedError

Progress = Callable[[int, int | None], None]
"""Called with the number of bytes done and the total number, which is None if it is unknown."""


def ignore(_done: int, _total: int | None) -> None:
    """Do nothing: the default progress callback."""


def until(stop: Event, progress: Progress = ignore) -> Progress:
    """Return a callback that forwards progress, and raises StoppedError once the event is set."""

    def report(done: int, total: int | None) -> None:
        if stop.is_set():
            raise StoppedError("stopped on request")
        progress(done, total)

    return report
