"""
The time, as controllers tell it: seconds since 1970 in memory, RFC 3339 text in objects.

Controllers are handed their clock, so that tests can move it.
"""

from collections.abc import Callable
from datetime import datetime

from virtshape.api.moment import format_moment

Clock = Callable[[], float]


def format_time(seconds: float) -> str:
    """The moment as objects state it, to the second."""
    return format_moment(int(seconds))


def parse_time(text: str) -> float:
    """The moment that an object states."""
    return datetime.fromisoformat(text).timestamp()
