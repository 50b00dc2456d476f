"""
Everything that is wrong with a command line, gathered while its flags are read and told at once.

Never prints; the refusal it raises is reported by whoever runs the command.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import click

from virtshape.cli.create.parameters import ParameterError
from virtshape.cli.errors import NotUnderstood, point_to_help


class Problems:
    """The problems found so far, each with its flag."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.lines)

    @contextmanager
    def of(self, flag: str) -> Iterator[None]:
        """Note what the body cannot do with the value of this flag."""
        try:
            yield
        except ParameterError as error:
            self.lines += [f"{flag}: {problem}" for problem in error.problems]

    def check_exclusive(self, given: Collection[str], group: Collection[str]) -> None:
        """Note that more than one flag of the group is given."""
        clashing = [flag for flag in group if flag in given]
        if len(clashing) > 1:
            self.lines.append(f"{' and '.join(clashing)} exclude each other; give one of them")

    def refuse(self) -> None:
        """Raise one refusal with all problems, if there is any."""
        if not self.lines:
            return
        next_step = point_to_help(click.get_current_context())
        if len(self.lines) == 1:
            raise NotUnderstood(self.lines[0], next_step=next_step)
        raise NotUnderstood(f"{len(self.lines)} problems with the flags", self.lines, next_step)
