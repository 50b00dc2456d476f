"""Collect the problems of a command line and report them together."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import click

from virtshape.cli.create.parameters import ParameterError
from virtshape.cli.errors import ArgumentError, format_help_hint


class Problems:
    """Collects problems with flags."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.lines)

    @contextmanager
    def collect(self, flag: str) -> Iterator[None]:
        """Collect the problems of a ParameterError that the block raises, with the flag's name."""
        try:
            yield
        except ParameterError as error:
            self.lines += [f"{flag}: {problem}" for problem in error.problems]

    def check_exclusive(self, given: Collection[str], group: Collection[str]) -> None:
        """Add a problem if more than one flag of a group is given."""
        clashing = [flag for flag in group if flag in given]
        if len(clashing) > 1:
            self.lines.append(f"{' and '.join(clashing)} are mutually exclusive")

    def raise_all(self) -> None:
        """Raise one ArgumentError with all problems, if there are any."""
        if not self.lines:
            return
        next_step = format_help_hint(click.get_current_context())
        if len(self.lines) == 1:
            raise ArgumentError(self.lines[0], next_step=next_step)
        raise ArgumentError(f"{len(self.lines)} problems with the flags", self.lines, next_step)
