"""Format ages as kubectl does: `45s`, `3m20s`, `2d4h`, `5y`."""

from datetime import datetime

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def format_age(time: str | None, now: float) -> str:
    """
    Format the age of an RFC 3339 time; return a placeholder if the time is invalid.

    `now` is in seconds since 1970.
    """
    if not time:
        return "<unknown>"
    try:
        seconds = now - datetime.fromisoformat(time).timestamp()
    except ValueError:
        return "<invalid>"
    return format_duration(seconds)


def format_duration(seconds: float) -> str:
    """Format a duration in one or two units; longer durations are coarser."""
    total = int(seconds)  # round towards zero, because clocks may differ slightly
    if total < 0:
        return "0s" if total == -1 else "<invalid>"
    if total < 2 * _MINUTE:
        return f"{total}s"
    if total < 10 * _MINUTE:
        return _format_units(total, _MINUTE, "m", 1, "s")
    if total < 3 * _HOUR:
        return f"{total // _MINUTE}m"
    if total < 8 * _HOUR:
        return _format_units(total, _HOUR, "h", _MINUTE, "m")
    if total < 2 * _DAY:
        return f"{total // _HOUR}h"
    if total < 8 * _DAY:
        return _format_units(total, _DAY, "d", _HOUR, "h")
    if total < 2 * _YEAR:
        return f"{total // _DAY}d"
    if total < 8 * _YEAR:
        return _format_units(total, _YEAR, "y", _DAY, "d")
    return f"{total // _YEAR}y"


def _format_units(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}" + (f"{rest}{small_unit}" if rest else "")
