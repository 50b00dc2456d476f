"""Timestamps of objects: RFC 3339 in UTC, with a resolution of one second."""

import time
from functools import lru_cache


def now() -> str:
    """Return the current time."""
    return format_timestamp(int(time.time()))


@lru_cache(maxsize=8)
def format_timestamp(seconds: int) -> str:
    """Format seconds since 1970."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
