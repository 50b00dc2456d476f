"""
`virtctl unpause`: lets a guest go on.

Asks the server and waits for nothing.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import (
    act_on_instance,
    dry_run_option,
    instance_argument,
    instance_output_option,
    kind_argument,
    read_kind,
)


@click.command(
    "unpause",
    cls=Command,
    short_help="Let a paused guest go on.",
    examples=[
        Example("Let the guest of a VM go on", "virtctl unpause vm web"),
        Example("See whether an instance could go on", "virtctl unpause vmi web --dry-run"),
    ],
)
@kind_argument
@instance_argument
@dry_run_option
@instance_output_option
@connection_options
def command(*, kind: str, name: str, dry_run: bool, output: str | None, target: Target) -> None:
    """Let the paused guest of the VM or instance NAME go on."""
    read_kind(kind)
    act_on_instance(target, name, "unpause", "unpause", dry_run=dry_run, output=output)
