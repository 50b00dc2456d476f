"""Parse CPU lists such as `0-3,^1,8`."""

import re
from typing import Final

_PART: Final = re.compile(r"\s*(?P<without>\^?)(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?\s*")


def parse_numbers(text: str) -> tuple[int, ...] | None:
    """Return the sorted numbers; None if the text is not a valid list."""
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
