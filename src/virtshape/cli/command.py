"""
A command as users of kubectl expect it: examples in its help, boolean flags that may be given a value.

Decides nothing about what the command does.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import click


class Example(NamedTuple):
    """A command line that works, and what it is good for."""

    purpose: str
    line: str


class Command(click.Command):
    """A command with examples; its boolean flags read `--flag`, `--flag=true` and `--flag=false`."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a boolean flag alone never takes the next word for its value."""
        switches = {name for parameter in self.params if is_switch(parameter) for name in parameter.opts}
        return super().parse_args(ctx, [f"{word}=true" if word in switches else word for word in args])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, ready to be pasted."""
        super().format_epilog(ctx, formatter)
        if not self.examples:
            return
        with formatter.section("Examples"):
            for number, (purpose, line) in enumerate(self.examples):
                if number:
                    formatter.write("\n")
                formatter.write(f"{' ' * formatter.current_indent}# {purpose}\n")
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


def is_switch(parameter: click.Parameter) -> bool:
    """Whether the flag is a boolean whose value may be left out."""
    return isinstance(parameter, click.Option) and not parameter.is_flag and parameter.type is click.BOOL


def switch(*names: str, **attributes: Any) -> Any:
    """Declare a boolean flag that may be given a value, as `--namespaced=false`."""
    return click.option(*names, type=click.BOOL, metavar="", **attributes)
