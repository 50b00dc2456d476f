"""
The time, as controllers tell it: seconds since 1970 in memory, RFC 3339 text in objects.

Controllers are handed their clock, so that tests can move it.
"""

import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

Clock = Callable[[], float]


def format_time(seconds: float) -> str:
    """The moment as objects state it, to the second."""
    return _format_second(int(seconds))


@lru_cache(maxsize=8)
def _format_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def parse_time(text: str) -> float:
    """The moment that an object states."""
    return datetime.fromisoformat(text).timestamp()
