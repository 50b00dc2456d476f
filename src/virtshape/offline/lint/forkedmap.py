"""
Call a function for many items in several processes, which are forks of this one.

A process blocks while the pipe for its results is full, so the results in memory are limited. A fork copies only the
thread that calls it: do not use this module in a process with other threads.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_forks(function: Callable[[T], R], items: Sequence[T], processes: int) -> Iterator[R | None]:
    """Yield the result for each item, in order; None if the function raised an exception or its process died."""
    context = multiprocessing.get_context("fork")
    receivers, workers = [], []
    try:
        for number in range(processes):
            receiver, sender = context.Pipe(duplex=False)
            receivers.append(receiver)
            arguments = (function, items[number::processes], receiver, sender)
            workers.append(context.Process(target=_work, args=arguments, daemon=True))
            workers[-1].start()
            sender.close()
        for number in range(len(items)):
            yield _receive(receivers[number % processes])
    finally:
        for receiver, worker in zip(receivers, workers, strict=True):
            receiver.close()
            worker.terminate()
            worker.join()


def _receive(receiver: "Connection[Any, Any]") -> Any:
    try:
        return receiver.recv()
    except (EOFError, OSError):
        return None


def _work(
    function: Callable[[T], R], items: Sequence[T], receiver: "Connection[Any, Any]", sender: "Connection[Any, Any]"
) -> None:
    """Send the results of a process; end when the parent process has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C and ends this process
    receiver.close()  # a write fails only if no process can read
    for item in items:
        try:
            result: R | None = function(item)
        except Exception:  # noqa: BLE001 - the parent process calls the function again and reports the error
            result = None
        try:
            sender.send(result)
        except BrokenPipeError:
            return
