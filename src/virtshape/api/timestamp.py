"""
Timestamps: seconds since 1970 in memory, RFC 3339 in UTC with a resolution of one second in objects.

Controllers get their clock as an argument, so that tests can control it.
"""

import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

Clock = Callable[[], float]


def now() -> str:
    """Return the current time."""
    return format_timestamp(int(time.time()))


@lru_cache(maxsize=8)
def format_timestamp(seconds: int) -> str:
    """Format seconds since 1970."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def format_time(seconds: float) -> str:
    """Format a time as in Kubernetes objects, with a precision of one second."""
    return format_timestamp(int(seconds))


def parse_time(text: str) -> float:
    """Parse an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()
