"""
`virtctl guestosinfo`: what a guest says of its operating system.

Asks the agent in the guest, through the server.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.agent import answer_option, print_answer
from virtshape.cli.guest.instance import instance_argument


@click.command(
    "guestosinfo",
    cls=Command,
    short_help="Show what a guest says of itself.",
    examples=[
        Example("All that the guest says", "virtctl guestosinfo web"),
        Example("Its name alone", "virtctl guestosinfo web | jq -r .os.prettyName"),
    ],
)
@instance_argument
@answer_option
@connection_options
def command(*, name: str, output: str, target: Target) -> None:
    """
    Print what the guest of the instance NAME says of its operating system, time zone, users and file systems.

    The guest needs an agent that answers, such as qemu-guest-agent; the instance has a condition AgentConnected then.
    """
    print_answer(target, name, "guestosinfo", output)
