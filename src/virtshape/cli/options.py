"""
`options`: the flags that every command takes.

Only their help.
"""

from functools import partial

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import declare_flags


@click.command(
    "options",
    cls=Command,
    short_help="List the flags that every command takes.",
    examples=[
        Example("All of them", "virtctl options"),
        Example("One of them in use", "virtctl --context staging start web"),
        Example("Act as somebody else", "virtctl start web --as jdoe --as-group operators"),
        Example("See what is asked of the server", "virtctl start web -v=6"),
    ],
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """
    List the flags that every command takes, before or behind its name.

    A flag behind the command counts more than the same flag before it. Where the command has another flag of that
    name, as customize has --cluster, these stand before it.
    """
    click.echo("The following options can be passed to any command:\n")
    click.echo(describe_flags(ctx), nl=False)


def describe_flags(ctx: click.Context) -> str:
    """The flags with their help, one below the other."""
    formatter = ctx.make_formatter()
    with formatter.indentation():
        formatter.write_dl([row for flag in any_command.get_params(ctx) if (row := flag.get_help_record(ctx))])
    return formatter.getvalue()


@click.command("any")
@partial(declare_flags, hide_overrides=False)
def any_command() -> None:
    """Stand for any command: it has the flags that all have."""
