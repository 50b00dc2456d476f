"""Moments as objects state them: RFC 3339, in UTC, to the second."""

import time
from functools import lru_cache


def now() -> str:
    """This second."""
    return format_moment(int(time.time()))


@lru_cache(maxsize=8)
def format_moment(seconds: int) -> str:
    """A second since 1970."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
