"""
`virtctl restart`: has a VM end and run anew, with what became of its spec meanwhile.

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
    "restart",
    cls=Command,
    short_help="Restart a VM.",
    examples=[
        Example("Shut the guest down and start it again", "virtctl restart web"),
        Example("Turn it off and on at once", "virtctl restart web --force --grace-period 0"),
    ],
)
@machine_argument
@force_option
@click.option(
    "--grace-period",
    type=WholeNumber(0, 2**31 - 1),
    metavar="SECONDS",
    help="How long the guest may take to shut down; 0 is the only number there is so far.",
)
@dry_run_option
@machine_output_option
@connection_options
def command(
    *, name: str, force: bool, grace_period: int | None, dry_run: bool, output: str | None, target: Target
) -> None:
    """
    Restart the VM NAME: its instance ends, and a new one is made.

    The new one has the VM's spec as it is now, and the instance type and preference of its revisions.
    """
    period = read_grace_period(force, grace_period)
    options = {} if period is None else {"gracePeriodSeconds": period}
    act_on_machine(target, name, "restart", options, dry_run=dry_run, output=output)
