"""Describe and identify failures of background tasks and threads, and compute the delay before a restart."""

import random
import traceback
from typing import Final

from msgspec import Struct

MAX_REASON_LENGTH: Final = 512


class Backoff(Struct, frozen=True):
    """How long to wait before a restart, in seconds; `healthy` is how long a task must run to count as recovered."""

    first: float = 1.0
    longest: float = 60.0
    healthy: float = 5.0

    def delay(self, failures: int) -> float:
        """Return the delay in seconds after this many consecutive failures, with jitter."""
        bound = min(self.first * 2.0 ** min(failures - 1, 32), self.longest)
        return bound * random.uniform(0.5, 1)  # noqa: S311 - not a secret


def describe_error(error: BaseException) -> str:
    """Return the type and message of an exception in one line; for a group of one exception, describe its member."""
    error = _unwrap(error)
    message = " ".join(str(error).split())
    name = type(error).__name__
    return (f"{name}: {message}" if message else name)[:MAX_REASON_LENGTH]


def identify_error(error: BaseException) -> str:
    """Return a signature of a failure: its type and location, but not its message, which may vary."""
    error = _unwrap(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__qualname__} {place}"


def _unwrap(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
