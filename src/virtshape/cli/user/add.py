"""
`virtshape user add`: a certificate or token for someone, as a kubeconfig, and what they may do with it.

Only flags and output.
"""

from collections.abc import Sequence
from pathlib import Path

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import warn

ROLES = ("view", "edit", "admin")


@click.command(
    "add",
    cls=Command,
    short_help="Give someone access, and print their kubeconfig.",
    examples=[
        Example("Let bob work in one namespace", "virtshape user add bob --namespace dev --role edit > bob.kubeconfig"),
        Example(
            "Let a pipeline see everything, with a token", "virtshape user add ci --role view --token > ci.kubeconfig"
        ),
        Example("Let bindings of a group decide what carol may do", "virtshape user add carol --group team-a"),
    ],
)
@click.argument("name", metavar="NAME")
@click.option("--namespace", "-n", metavar="NS", help="Where the role holds; everywhere, if not given.")
@click.option("--role", type=click.Choice(ROLES), help="What they may do: look, change VMs, or also give others roles.")
@click.option("--group", "groups", multiple=True, metavar="G", help="Group they belong to; may be given several times.")
@switch("--token", default=False, help="A bearer token instead of a client certificate.")
@click.option("--server", metavar="URL", help="Address of the server as they reach it, if not the one of this machine.")
@data_directory_option
def command(
    name: str,
    namespace: str | None,
    role: str | None,
    groups: Sequence[str],
    token: bool,
    server: str | None,
    directory: Path,
) -> None:
    """
    Give NAME access to the system and print the kubeconfig to use.

    The kubeconfig is shown once and kept nowhere. It is good for a year. Everyone with access may see the
    cluster-wide instance types and preferences; a role permits more. Adding someone again adds to what they have.
    """
    # Imported now, since reading help needs no server.
    from virtshape.cli.user.system import ask_system
    from virtshape.standalone.users import Grant, grant_access

    grant = Grant(namespace=namespace, role=role, groups=tuple(groups), by="token" if token else "certificate")
    kubeconfig = ask_system(directory, lambda client: grant_access(client, directory, name, grant, server))
    if role is None and not groups:
        warn(f"{name} has neither role nor group, and may only look at cluster-wide instance types and preferences")
    click.echo(kubeconfig, nl=False)
