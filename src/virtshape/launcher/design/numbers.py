"""
Lists of CPUs as people write them: `0-3,^1,8`.

Pure: no I/O, no clock, no logging.
"""

import re
from typing import Final

_PART: Final = re.compile(r"\s*(?P<without>\^?)(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?\s*")


def parse_numbers(text: str) -> tuple[int, ...] | None:
    """The numbers in order; None for a text that is no such list."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return None
        first = int(match["first"])
        run = range(first, int(match["last"] or first) + 1)
        if not run:
            return None
        if match["without"]:
            numbers.difference_update(run)
        else:
            numbers.update(run)
    return tuple(sorted(numbers))
