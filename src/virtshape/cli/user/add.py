"""`virtshape user add`: issue a certificate or token for a user and print a kubeconfig."""

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
    short_help="Add a user and print a kubeconfig.",
    examples=[
        Example(
            "Grant bob the role edit in one namespace",
            "virtshape user add bob --namespace dev --role edit > bob.kubeconfig",
        ),
        Example(
            "Grant a pipeline read access, with a token", "virtshape user add ci --role view --token > ci.kubeconfig"
        ),
        Example("Add carol to a group that has role bindings", "virtshape user add carol --group team-a"),
    ],
)
@click.argument("name", metavar="NAME")
@click.option("--namespace", "-n", metavar="NS", help="Namespace of the role. [default: all namespaces]")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    help="Role of the user: view reads objects, edit also changes VMs, admin also grants roles.",
)
@click.option("--group", "groups", multiple=True, metavar="G", help="Group of the user. Can be repeated.")
@switch("--token", default=False, help="Issue a bearer token instead of a client certificate.")
@click.option("--server", metavar="URL", help="Server URL to write to the kubeconfig, instead of the local address.")
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
    Add the user NAME and print a kubeconfig.

    The kubeconfig is printed once, is not stored, and is valid for a year. All users may read the cluster-wide instance
    types and preferences; a role grants more. Adding an existing user again keeps the previous permissions.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.user.system import run_with_client
    from virtshape.standalone.users import Grant, grant_access

    grant = Grant(namespace=namespace, role=role, groups=tuple(groups), by="token" if token else "certificate")
    kubeconfig = run_with_client(directory, lambda client: grant_access(client, directory, name, grant, server))
    if role is None and not groups:
        warn(f"{name} has no role and no group, and may only read cluster-wide instance types and preferences")
    click.echo(kubeconfig, nl=False)
