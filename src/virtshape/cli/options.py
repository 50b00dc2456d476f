"""`options`: list the global flags."""

from functools import partial

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import declare_flags


@click.command(
    "options",
    cls=Command,
    short_help="List the global flags.",
    examples=[
        Example("List the global flags", "virtctl options"),
        Example("Use another context", "virtctl --context staging start web"),
        Example("Impersonate another user", "virtctl start web --as jdoe --as-group operators"),
        Example("Log the requests to the server", "virtctl start web -v=6"),
    ],
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """
    List the global flags, which can be given before or after the command's name.

    A flag after the command overrides the same flag before it. If the command has a flag of the same name, as customize
    has --cluster, give the global flag before the command.
    """
    click.echo("The following options can be passed to any command:\n")
    click.echo(describe_flags(ctx), nl=False)


def describe_flags(ctx: click.Context) -> str:
    """Return the help of all global flags."""
    formatter = ctx.make_formatter()
    with formatter.indentation():
        formatter.write_dl([row for flag in any_command.get_params(ctx) if (row := flag.get_help_record(ctx))])
    return formatter.getvalue()


@click.command("any")
@partial(declare_flags, hide_overrides=False)
def any_command() -> None:
    """A command with only the global flags."""
