"""`virtshape image list`: list images with their size, status and defaults."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option

if TYPE_CHECKING:
    from virtshape.standalone.images import Image

HEADERS = ("NAME", "NAMESPACE", "SIZE", "STATUS", "INSTANCETYPE", "PREFERENCE", "AGE")
NOTHING = "<none>"


@click.command(
    "list",
    cls=Command,
    short_help="List images.",
    examples=[
        Example("List all images", "virtshape image list"),
        Example("List the images in a namespace as JSON", "virtshape image list --namespace images -o json"),
    ],
)
@click.option("--namespace", "-n", metavar="NS", default="", help="Only images in this namespace.")
@output_choice("table", "json", "yaml", help="Output format.")
@data_directory_option
def command(namespace: str, output: str, directory: Path) -> None:
    """List all images, which are the DataSources of the server."""
    # Imported here to keep `--help` fast.
    from virtshape.cli.user.system import run_with_client
    from virtshape.standalone.images import list_images

    print_images(run_with_client(directory.absolute(), lambda client: list_images(client, namespace)), output)


def print_images(images: "Sequence[Image]", output: str) -> None:
    """Print images in the output format."""
    from virtshape.cli.output import print_object, print_table

    if output == "table":
        print_table(HEADERS, [describe(image) for image in images])
    else:
        print_object({"images": list(images)}, output)


def describe(image: "Image") -> list[str]:
    """Return the table row of an image."""
    from virtshape.apiserver.encoding.age import format_age

    return [
        image.name,
        image.namespace,
        image.size or NOTHING,
        image.status,
        image.default_instancetype or NOTHING,
        image.default_preference or NOTHING,
        format_age(image.created, time.time()),
    ]
