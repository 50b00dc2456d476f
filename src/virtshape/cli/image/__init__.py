"""`virtshape image`: manage disk images for VMs."""

import click

from virtshape.cli.command import Example
from virtshape.cli.group import Entry, LazyGroup

ENTRIES = {
    "add": Entry("virtshape.cli.image.add", "Add a disk image from a file or URL."),
    "list": Entry("virtshape.cli.image.list", "List images."),
    "rm": Entry("virtshape.cli.image.rm", "Remove images."),
}


@click.group(
    "image",
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example(
            "Add an image with a default instance type and preference",
            "virtshape image add fedora ./fedora.qcow2 --default-instancetype u1.small --default-preference fedora",
        ),
        Example("List the images", "virtshape image list"),
    ],
)
def command() -> None:
    """
    Add, list and remove disk images for VMs.

    An image is a PVC and a DataSource of the same name. A VM gets a copy of the image through a dataVolumeTemplate
    whose sourceRef is the DataSource. With inferFromVolume, the VM gets the image's default instance type and
    preference.
    """
