"""
Timestamps and durations.

In memory, timestamps are seconds since 1970. In objects, they are RFC 3339 text in UTC, in whole seconds. Durations
have Go's format, as in Kubernetes: `45s`, `1m30s`, `250ms`. Controllers get their clock as an argument.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Final

Clock = Callable[[], float]
MAX_TEXT_LENGTH: Final = 64
_DURATION: Final = re.compile(r"(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+|0")
_PART: Final = re.compile(r"([0-9.]+)([a-zµ]+)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def now() -> str:
    """Return the current time in the format of Kubernetes objects."""
    return format_timestamp(int(time.time()))


@lru_cache(maxsize=8)
def format_timestamp(seconds: int) -> str:
    """Return whole seconds since 1970 in the format of Kubernetes objects."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def format_time(seconds: float) -> str:
    """Return seconds since 1970 in the format of Kubernetes objects, without fractions."""
    return format_timestamp(int(seconds))


def parse_time(text: str) -> float:
    """Parse an RFC 3339 time; return seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def parse_duration(text: str) -> float:
    """Return the duration in seconds; raise ValueError if the text is not a duration."""
    if len(text) > MAX_TEXT_LENGTH or not _DURATION.fullmatch(text):
        raise ValueError(
            f'invalid duration "{text[:MAX_TEXT_LENGTH]}": must be a number with a unit, such as 45s or 1m30s'
        )
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
