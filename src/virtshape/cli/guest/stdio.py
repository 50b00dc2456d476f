"""
Standard input and output as a stream, and the terminal in raw mode.

Blocking calls run in daemon threads, because non-blocking mode would affect other processes with the same terminal.
"""

import asyncio
import contextlib
import os
import queue
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from virtshape.stream.duplex import MAX_AT_ONCE

T = TypeVar("T")


class _Worker:
    """A thread that runs blocking calls in order."""

    def __init__(self, name: str) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name=name, daemon=True).start()

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Run the call in the thread and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def finish(result: T | None, error: OSError | None) -> None:
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]  # without an error there is a result

        def call() -> None:
            outcome: tuple[T | None, OSError | None]
            try:
                outcome = function(*args), None
            except OSError as error:
                outcome = None, error
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish, *outcome)

        self._calls.put(call)
        return await future

    def _run(self) -> None:
        while True:
            self._calls.get()()


class Stdio:
    """Standard input and output as one stream."""

    def __init__(self) -> None:
        self._reader = _Worker("stdin")
        self._writer = _Worker("stdout")

    async def read(self) -> bytes:
        """Return the next input, or empty bytes at the end of the input."""
        try:
            return await self._reader.run(os.read, sys.stdin.fileno(), MAX_AT_ONCE)
        except OSError:  # the terminal was closed
            return b""

    async def write(self, data: bytes) -> None:
        """Write all data."""
        await self._writer.run(_write_all, sys.stdout.fileno(), data)

    async def close(self) -> None:
        """Do nothing: the streams belong to the process."""


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextlib.contextmanager
def raw_terminal() -> Iterator[None]:
    """Put the terminal in raw mode, if there is one, and restore it afterwards."""
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal was closed in the meantime
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
