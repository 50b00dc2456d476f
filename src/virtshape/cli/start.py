"""
`virtctl start`: has a VM run.

Asks the server and waits for nothing.
"""

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.machine import act_on_machine, dry_run_option, machine_argument, machine_output_option


@click.command(
    "start",
    cls=Command,
    short_help="Start a VM.",
    examples=[
        Example("Start a VM", "virtctl start web"),
        Example(
            "Start it with its guest paused, to be looked at from the first instruction", "virtctl start web --paused"
        ),
        Example("See whether it could be started, in another namespace", "virtctl start web -n team --dry-run"),
    ],
)
@machine_argument
@switch("--paused", default=False, help="Start with the guest paused; `virtctl unpause` lets it go on.")
@dry_run_option
@machine_output_option
@connection_options
def command(*, name: str, paused: bool, dry_run: bool, output: str | None, target: Target) -> None:
    """
    Start the VM NAME.

    A VM whose run strategy is Halted gets the strategy Always, or `running: true`; one that is Manual or
    RerunOnFailure is started this once.
    """
    act_on_machine(target, name, "start", {"paused": True} if paused else {}, dry_run=dry_run, output=output)
