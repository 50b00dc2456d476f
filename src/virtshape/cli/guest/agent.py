"""`virtctl guestosinfo`, `userlist` and `fslist`: query the guest agent through the server."""

from typing import TYPE_CHECKING, Any

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.guest.instance import explain_instance_error, instance_argument, parse_instance_name

if TYPE_CHECKING:
    from virtshape.client.guests import AgentQuery

format_option = output_choice("json", "yaml", help="Output format.")


@click.command(
    "guestosinfo",
    cls=Command,
    short_help="Show information about the guest's operating system.",
    examples=[
        Example("Show all information", "virtctl guestosinfo web"),
        Example("Show the name of the operating system", "virtctl guestosinfo web | jq -r .os.prettyName"),
    ],
)
@instance_argument
@format_option
@connection_options
def guestosinfo(*, name: str, output: str, target: Target) -> None:
    """
    Print the operating system, time zone, users and file systems of the instance NAME, as its guest agent reports them.

    The guest must run an agent, such as qemu-guest-agent. While the agent is connected, the instance has the
    condition AgentConnected.
    """
    print_agent_info(target, name, "guestosinfo", output)


@click.command(
    "userlist",
    cls=Command,
    short_help="List the users logged in to a guest.",
    examples=[
        Example("List the users", "virtctl userlist web"),
        Example("List the users as YAML", "virtctl userlist web -o yaml"),
    ],
)
@instance_argument
@format_option
@connection_options
def userlist(*, name: str, output: str, target: Target) -> None:
    """
    Print the users logged in to the guest of the instance NAME.

    The guest must run an agent, such as qemu-guest-agent. While the agent is connected, the instance has the
    condition AgentConnected.
    """
    print_agent_info(target, name, "userlist", output)


@click.command(
    "fslist",
    cls=Command,
    short_help="List the file systems of a guest.",
    examples=[
        Example("List the file systems", "virtctl fslist web"),
        Example("List the mount points", "virtctl fslist web | jq -r '.items[].mountPoint'"),
    ],
)
@instance_argument
@format_option
@connection_options
def fslist(*, name: str, output: str, target: Target) -> None:
    """
    Print the file systems mounted in the guest of the instance NAME, and their usage.

    The guest must run an agent, such as qemu-guest-agent. While the agent is connected, the instance has the
    condition AgentConnected.
    """
    print_agent_info(target, name, "filesystemlist", output)


def print_agent_info(target: Target, text: str, query: "AgentQuery", output: str) -> None:
    """Query the guest agent of an instance and print its response."""
    name = parse_instance_name(text)

    async def ask(session: Session) -> Any:
        from virtshape.api.status import StatusError
        from virtshape.client.guests import query_agent

        try:
            return await query_agent(session.client, session.namespace, name, query)
        except StatusError as error:
            raise await explain_instance_error(session, name, error) from error

    from virtshape.cli.output import print_object

    print_object(run_session(target, ask), output)
