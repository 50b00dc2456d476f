"""
`virtshape image`: disk images that VMs can be made from.

Only the table of what can be done.
"""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "add": Entry("virtshape.cli.image.add", "Add a disk image from a file or an address."),
    "list": Entry("virtshape.cli.image.list", "Show the images that there are."),
    "rm": Entry("virtshape.cli.image.rm", "Remove images."),
}


@click.group(
    "image",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example(
            "Add an image that knows its size and what its guest likes",
            "virtshape image add fedora ./fedora.qcow2 --default-instancetype u1.small --default-preference fedora",
        ),
        Example("See what there is", "virtshape image list"),
    ],
)
def command() -> None:
    """
    Add, show and remove disk images that VMs can be made from.

    An image is a claim with its content and a DataSource of the same name. A VM gets a copy by a dataVolumeTemplate
    whose sourceRef is to the DataSource, and with inferFromVolume the instance type and preference that go with it.
    """
