"""
`virtctl pause`: holds a guest where it is.

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
    "pause",
    cls=Command,
    short_help="Hold a guest where it is.",
    examples=[
        Example("Pause the guest of a VM", "virtctl pause vm web"),
        Example("See whether an instance could be paused", "virtctl pause vmi web --dry-run"),
    ],
)
@kind_argument
@instance_argument
@dry_run_option
@instance_output_option
@connection_options
def command(*, kind: str, name: str, dry_run: bool, output: str | None, target: Target) -> None:
    """
    Pause the guest of the VM or instance NAME: its vCPUs stand still, its memory stays.

    `virtctl unpause` lets it go on.
    """
    read_kind(kind)
    act_on_instance(target, name, "pause", "pause", dry_run=dry_run, output=output)
