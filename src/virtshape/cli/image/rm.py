"""`virtshape image rm`: remove images and their PVCs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import CommandError

if TYPE_CHECKING:
    from virtshape.client.protocol import Client


@click.command(
    "rm",
    cls=Command,
    short_help="Remove images.",
    examples=[
        Example("Remove an image", "virtshape image rm fedora"),
        Example("Remove several images in a namespace", "virtshape image rm fedora debian --namespace images"),
    ],
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--namespace", "-n", metavar="NS", default="default", show_default=True, help="Namespace of the images.")
@data_directory_option
def command(names: Sequence[str], namespace: str, directory: Path) -> None:
    """
    Remove images that `virtshape image add` created, with their PVCs.

    Disks that were copied from an image are kept. A PVC that a VM uses directly is removed when the VM has stopped.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.user.system import run_with_client
    from virtshape.standalone.images import ImageError, remove_image

    async def remove(client: "Client") -> None:
        for name in names:
            await remove_image(client, name, namespace)
            click.echo(f"{name} removed")

    try:
        run_with_client(directory.absolute(), remove)
    except ImageError as error:
        step = "To remove it anyway: kubectl delete datasource"
        raise CommandError(str(error), next_step=step) from None
