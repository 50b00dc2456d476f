"""
Signals that end a command which runs until it is told to end.

Both Ctrl+C and SIGTERM are the way it is meant to end, so neither is a failure.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def listening() -> Iterator[asyncio.Event]:
    """An event that is set by a signal, while the block lasts."""
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in _ENDING:
        loop.add_signal_handler(number, told.set)
    try:
        yield told
    finally:
        for number in _ENDING:
            loop.remove_signal_handler(number)
