"""`virtshape version`: print the version."""

import platform
from importlib.metadata import version

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.output import print_object


@click.command(
    "version",
    cls=Command,
    short_help="Print the version.",
    examples=[
        Example("Print the version", "{program} version"),
        Example("Print the version as JSON", "{program} version -o json"),
    ],
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Output format, instead of a plain line.")
def command(output: str | None) -> None:
    """Print the version of this command and of the Python that runs it."""
    release = version("virtshape")
    if output is None:
        click.echo(f"virtshape {release} (Python {platform.python_version()}, {platform.machine()})")
    else:
        client = {"version": release, "python": platform.python_version(), "platform": platform.machine()}
        print_object({"clientVersion": client}, output)
