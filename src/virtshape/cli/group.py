"""
A command group that imports a command only when it is used.

The group's help is generated from a table and imports no command, which keeps start-up fast.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from virtshape.cli.command import Example, normalize_args, write_examples
from virtshape.cli.errors import suggest

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class Entry(NamedTuple):
    """A command: its module, its summary in the group's help, its name in the module, and its section of the help."""

    module: str
    help: str
    attribute: str = "command"
    section: str = "Commands"


class LazyGroup(click.Group):
    """A group whose commands are listed in a table."""

    def __init__(
        self, *args: Any, entries: Mapping[str, Entry], examples: Sequence[Example] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help and exit with 0."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, normalize_args(self.params, args))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return all names in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import and return the command."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(import_module(entry.module), entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names; suggest similar names if it is unknown."""
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f'unknown command "{name}"{suggest(name, self.entries)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the lists of commands, one for each section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.entries.items():
            sections.setdefault(entry.section, []).append((name, entry.help))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog and the examples."""
        super().format_epilog(ctx, formatter)
        write_examples(self.examples, ctx, formatter)
