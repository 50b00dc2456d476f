"""
`virtshape image rm`: removes images with all that they hold.

Only flags and output.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import Refusal

if TYPE_CHECKING:
    from virtshape.client.protocol import Client


@click.command(
    "rm",
    cls=Command,
    short_help="Remove images.",
    examples=[
        Example("Remove one", "virtshape image rm fedora"),
        Example("Remove several of a namespace", "virtshape image rm fedora debian --namespace images"),
    ],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--namespace", "-n", metavar="NS", default="default", show_default=True, help="Where the images are.")
@data_directory_option
def command(names: Sequence[str], namespace: str, directory: Path) -> None:
    """
    Remove images that `virtshape image add` made, with the claims that hold them.

    Disks that were copied from an image stay. A claim that a VM uses directly goes when the VM has stopped.
    """
    # Imported now, since reading help needs no server.
    from virtshape.cli.user.system import ask_system
    from virtshape.standalone.images import ImageError, remove_image

    async def remove(client: "Client") -> None:
        for name in names:
            await remove_image(client, name, namespace)
            click.echo(f"{name} is removed")

    try:
        ask_system(directory.absolute(), remove)
    except ImageError as error:
        step = "Remove it with kubectl, if you mean to: kubectl delete datasource"
        raise Refusal(str(error), next_step=step) from None
