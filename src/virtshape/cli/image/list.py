"""
`virtshape image list`: the images that there are, how large, how far, and what goes with them.

Only output.
"""

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
    short_help="Show the images that there are.",
    examples=[
        Example("For people", "virtshape image list"),
        Example("For programs, of one namespace", "virtshape image list --namespace images -o json"),
    ],
)
@click.option("--namespace", "-n", metavar="NS", default="", help="Only those of a namespace.")
@output_choice("table", "json", "yaml", help="How to print them.")
@data_directory_option
def command(namespace: str, output: str, directory: Path) -> None:
    """Show all images, which are the DataSources of the system."""
    # Imported now, since reading help needs no server.
    from virtshape.cli.user.system import ask_system
    from virtshape.standalone.images import list_images

    print_images(ask_system(directory.absolute(), lambda client: list_images(client, namespace)), output)


def print_images(images: "Sequence[Image]", output: str) -> None:
    """Print images as they were asked for."""
    from virtshape.cli.output import print_object, print_table

    if output == "table":
        print_table(HEADERS, [describe(image) for image in images])
    else:
        print_object({"images": list(images)}, output)


def describe(image: "Image") -> list[str]:
    """The row of the table."""
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
