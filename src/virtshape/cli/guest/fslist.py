"""
`virtctl fslist`: the file systems that a guest has mounted.

Asks the agent in the guest, through the server.
"""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.agent import answer_option, print_answer
from virtshape.cli.guest.instance import instance_argument


@click.command(
    "fslist",
    cls=Command,
    short_help="Show the file systems of a guest.",
    examples=[
        Example("All of them", "virtctl fslist web"),
        Example("Where they are mounted", "virtctl fslist web | jq -r '.items[].mountPoint'"),
    ],
)
@instance_argument
@answer_option
@connection_options
def command(*, name: str, output: str, target: Target) -> None:
    """
    Print the file systems that the guest of the instance NAME has mounted, and how full they are.

    The guest needs an agent that answers, such as qemu-guest-agent; the instance has a condition AgentConnected then.
    """
    print_answer(target, name, "filesystemlist", output)
