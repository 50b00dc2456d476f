"""
`virtctl reset`: pushes a guest's reset button.

Asks the server and waits for nothing.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import act_on_instance, instance_argument, instance_output_option


@click.command(
    "reset",
    cls=Command,
    short_help="Reset a guest without asking it.",
    examples=[
        Example("Reset a guest that hangs", "virtctl reset web"),
        Example("Reset one of another namespace", "virtctl reset web -n team"),
    ],
)
@instance_argument
@instance_output_option
@connection_options
def command(*, name: str, output: str | None, target: Target) -> None:
    """
    Reset the guest of the instance NAME, as a reset button would; what it has not written is lost.

    The instance stays the same. `virtctl soft-reboot` asks the guest instead.
    """
    act_on_instance(target, name, "reset", "reset", output=output)
