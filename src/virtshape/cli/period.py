"""
Periods as flags take them, in kubectl's spellings: `45s`, `1m30s`, seconds alone, and 0 for no end.

Only reads.
"""

from typing import Any

import click


class Period(click.ParamType):  # type: ignore[type-arg] # click 8.1 takes none
    """A period such as 45s; kept in the user's words, which `read_seconds` understands."""

    name = "period"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check it."""
        try:
            read_seconds(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)
        return str(value)


def read_seconds(text: str) -> float | None:
    """How many seconds that is; None for no end, ValueError if it is no period."""
    # Imported now, since reading help needs no API.
    from virtshape.api.duration import parse_duration

    return parse_duration(f"{text}s" if text.isdecimal() else text) or None
