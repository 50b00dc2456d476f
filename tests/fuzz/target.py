"""Fuzz targets: functions that decode hostile bytes, with example inputs and a limit of the CPU time of each input."""

import time
from collections.abc import Callable
from typing import Final, NamedTuple

MAX_CPU_SECONDS: Final = 2.0
"""CPU time of one input; inputs of the fuzzer have at most MAX_INPUT_BYTES."""
MAX_INPUT_BYTES: Final = 4096


class Target(NamedTuple):
    """
    A decoder under test.

    `run` returns for valid input and for input that is rejected with a documented exception. Any other exception is a
    bug, and so is an AssertionError about a property such as a round trip.
    """

    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()
    """Tokens of the input language, which mutations insert."""


class SlowInputError(Exception):
    """An input took more CPU time than the limit."""


def measure_input(target: Target, data: bytes) -> float:
    """Run the target on an input; return its CPU time in seconds."""
    began = time.process_time()
    target.run(data)
    return time.process_time() - began


def run_input(target: Target, data: bytes, limit: float = MAX_CPU_SECONDS) -> None:
    """Run the target on an input; raise SlowInputError if it takes more CPU time than the limit."""
    seconds = measure_input(target, data)
    if seconds > limit:
        raise SlowInputError(f"{target.name}: {len(data)} bytes took {seconds:.1f} s of CPU time: {data[:200]!r}")
