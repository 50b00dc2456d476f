"""
`virtctl userlist`: who is logged in to a guest.

Asks the agent in the guest, through the server.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.agent import answer_option, print_answer
from virtshape.cli.guest.instance import instance_argument


@click.command(
    "userlist",
    cls=Command,
    short_help="Show who is logged in to a guest.",
    examples=[
        Example("Who is logged in", "virtctl userlist web"),
        Example("As YAML", "virtctl userlist web -o yaml"),
    ],
)
@instance_argument
@answer_option
@connection_options
def command(*, name: str, output: str, target: Target) -> None:
    """
    Print who is logged in to the guest of the instance NAME.

    The guest needs an agent that answers, such as qemu-guest-agent; the instance has a condition AgentConnected then.
    """
    print_answer(target, name, "userlist", output)
