"""
`virtctl stop`: has a VM end.

Asks the server and waits for nothing.
"""

import click

from virtshape.cli.command import Command, Example, WholeNumber
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.machine import (
    act_on_machine,
    dry_run_option,
    force_option,
    machine_argument,
    machine_output_option,
    read_grace_period,
)


@click.command(
    "stop",
    cls=Command,
    short_help="Stop a VM.",
    examples=[
        Example("Ask the guest to shut down", "virtctl stop web"),
        Example("Give it five seconds, then turn it off", "virtctl stop web --force --grace-period 5"),
    ],
)
@machine_argument
@force_option
@click.option(
    "--grace-period",
    type=WholeNumber(0, 2**31 - 1),
    metavar="SECONDS",
    help="How long the guest may take to shut down, in place of what the VM says.",
)
@dry_run_option
@machine_output_option
@connection_options
def command(
    *, name: str, force: bool, grace_period: int | None, dry_run: bool, output: str | None, target: Target
) -> None:
    """
    Stop the VM NAME: its guest is asked to shut down, and turned off when its time is over.

    A VM whose run strategy is Always gets the strategy Halted, or `running: false`; one that is Manual or
    RerunOnFailure is stopped this once.
    """
    period = read_grace_period(force, grace_period)
    options = {} if period is None else {"gracePeriod": period}
    act_on_machine(target, name, "stop", options, dry_run=dry_run, output=output)
