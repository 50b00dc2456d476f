"""
`virtctl soft-reboot`: asks a guest to boot again.

Asks the server and waits for nothing.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import act_on_instance, instance_argument, instance_output_option


@click.command(
    "soft-reboot",
    cls=Command,
    short_help="Ask a guest to reboot.",
    examples=[
        Example("Have a guest reboot", "virtctl soft-reboot web"),
        Example("Have one of another namespace reboot", "virtctl soft-reboot web -n team"),
    ],
)
@instance_argument
@instance_output_option
@connection_options
def command(*, name: str, output: str | None, target: Target) -> None:
    """
    Ask the guest of the instance NAME to reboot, through its agent or by ACPI.

    The instance stays the same; `virtctl restart` makes a new one, `virtctl reset` does not ask the guest.
    """
    act_on_instance(target, name, "soft-reboot", "softreboot", output=output)
