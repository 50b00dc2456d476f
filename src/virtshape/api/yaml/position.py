"""Positions in a text: lines and columns, both counted from 1."""

from typing import Final, NamedTuple

MAX_QUOTED_LENGTH: Final = 100
"""Maximum length of input that an error message quotes."""


class Position(NamedTuple):
    """A line and a column."""

    line: int
    column: int

    def within(self, start: "Position") -> "Position":
        """Convert this position in a document to a position in the whole text; `start` is where the document begins."""
        return Position(self.line + start.line - 1, self.column + (start.column - 1 if self.line == 1 else 0))


def shorten(text: str) -> str:
    """Return the text for an error message, truncated if it is long."""
    return text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:MAX_QUOTED_LENGTH]}..."


class TextError(Exception):
    """A problem in a text, with its position."""

    def __init__(self, position: Position, problem: str) -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem


def position_of(text: str, offset: int) -> Position:
    """Return the line and column of an offset."""
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
