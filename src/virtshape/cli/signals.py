"""Handle signals in commands that run an event loop."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import click

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CANCEL_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def stop_event() -> Iterator[asyncio.Event]:
    """Yield an event that Ctrl+C, SIGTERM and SIGHUP set, for commands that run until they are interrupted."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in _STOP_SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    try:
        yield stopped
    finally:
        for number in _STOP_SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def cancel_on_signals() -> Iterator[None]:
    """Cancel the current task on SIGTERM or SIGHUP, so that its cleanup runs, and raise click.Abort."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - called from a task
    for number in _CANCEL_SIGNALS:
        loop.add_signal_handler(number, task.cancel)
    try:
        yield
    except asyncio.CancelledError:
        raise click.Abort from None
    finally:
        for number in _CANCEL_SIGNALS:
            loop.remove_signal_handler(number)
