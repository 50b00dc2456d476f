"""Positions in a text: lines and columns, both counted from 1."""

from typing import Final, NamedTuple

MAX_QUOTED_LENGTH: Final = 100
"""Maximum length of an input's part that an error message repeats."""


class Place(NamedTuple):
    """A line and a column."""

    line: int
    column: int

    def within(self, start: "Place") -> "Place":
        """Return the position in the whole text; `start` is where the part begins."""
        return Place(self.line + start.line - 1, self.column + (start.column - 1 if self.line == 1 else 0))


def shorten(text: str) -> str:
    """Return a part of an input for an error message, cut if it is long."""
    return text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:MAX_QUOTED_LENGTH]}..."


class TextError(Exception):
    """A problem in a text, with its position."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(problem)
        self.place = place
        self.problem = problem


def place_of(text: str, offset: int) -> Place:
    """Count the line and column of an offset."""
    return Place(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
