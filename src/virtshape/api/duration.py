"""Parse durations in Go's format, as Kubernetes uses them: `45s`, `1m30s`, `250ms`."""

import re
from typing import Final

MAX_TEXT_LENGTH: Final = 64
_DURATION: Final = re.compile(r"(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|ms|s|m|h))+|0")
_PART: Final = re.compile(r"([0-9.]+)([a-zµ]+)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text: str) -> float:
    """Return the duration in seconds; raise ValueError if the text is not a duration."""
    if len(text) > MAX_TEXT_LENGTH or not _DURATION.fullmatch(text):
        raise ValueError(f'invalid duration "{text[:MAX_TEXT_LENGTH]}": must be like 45s or 1m30s')
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
