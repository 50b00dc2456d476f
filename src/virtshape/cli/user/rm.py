"""`virtshape user rm`: remove users."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option

if TYPE_CHECKING:
    from virtshape.client.protocol import Client


@click.command(
    "rm",
    cls=Command,
    short_help="Remove users.",
    examples=[
        Example("Remove bob", "virtshape user rm bob"),
        Example("Remove several users", "virtshape user rm bob carol"),
    ],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@data_directory_option
def command(names: Sequence[str], directory: Path) -> None:
    """
    Revoke all certificates and tokens of the user NAME, and remove the role bindings created with them.

    A running server rejects revoked credentials within seconds.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.user.system import run_with_client
    from virtshape.standalone.users import revoke_access

    async def remove(client: "Client") -> None:
        for name in names:
            await revoke_access(client, directory, name)
            click.echo(f"{name} removed")

    run_with_client(directory, remove)
