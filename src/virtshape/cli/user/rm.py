"""
`virtshape user rm`: takes back what someone was given.

Only flags and output.
"""

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
    short_help="Take someone's access back.",
    examples=[
        Example("Take back all that bob was given", "virtshape user rm bob"),
        Example("Several at once", "virtshape user rm bob carol"),
    ],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@data_directory_option
def command(names: Sequence[str], directory: Path) -> None:
    """
    Take back every certificate and token that NAME was given, and the bindings that came with them.

    A running server refuses them within seconds.
    """
    # Imported now, since reading help needs no server.
    from virtshape.cli.user.system import ask_system
    from virtshape.standalone.users import revoke_access

    async def dismiss(client: "Client") -> None:
        for name in names:
            await revoke_access(client, directory, name)
            click.echo(f"{name} has no access any more")

    ask_system(directory, dismiss)
