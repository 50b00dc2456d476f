"""
Time for controllers: seconds since 1970 in memory, RFC 3339 strings in objects.

Controllers get their clock as an argument, so that tests can control it.
"""

from collections.abc import Callable
from datetime import datetime

from virtshape.api.timestamp import format_timestamp

Clock = Callable[[], float]


def format_time(seconds: float) -> str:
    """Format a time as in Kubernetes objects, with a precision of one second."""
    return format_timestamp(int(seconds))


def parse_time(text: str) -> float:
    """Parse an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()
