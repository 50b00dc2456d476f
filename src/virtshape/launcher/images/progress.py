"""
How long work tells how far it is, and how it is stopped.

Every function that takes a `Progress` calls it a few times a second, in its own thread. What the callback raises
ends the work: temporary files are removed, and nothing appears under the final name.
"""

from collections.abc import Callable
from threading import Event

from virtshape.launcher.images.errors import StoppedError

Progress = Callable[[int, int | None], None]
"""Called with the bytes done, and with the bytes to do where they are known."""


def ignore(_done: int, _total: int | None) -> None:
    """Take no notice."""


def until(stop: Event, progress: Progress = ignore) -> Progress:
    """Give a callback that passes everything on until the event is set, and then ends the work."""

    def report(done: int, total: int | None) -> None:
        if stop.is_set():
            raise StoppedError("stopped on request")
        progress(done, total)

    return report
