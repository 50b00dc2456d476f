"""
`virtshape image add`: a file or an address becomes a claim and a data source, in one step.

Only flags and output.
"""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import NotUnderstood, Refusal
from virtshape.cli.size import Size

if TYPE_CHECKING:
    from virtshape.api.quantity import Quantity
    from virtshape.resolve.infer import InferredRole
    from virtshape.standalone.images import Default, NewImage, Stage

SCHEMES = ("http", "https", "docker")


@click.command(
    "add",
    cls=Command,
    short_help="Add a disk image from a file or an address.",
    examples=[
        Example(
            "Add a file of this machine, with what goes with it",
            "virtshape image add fedora ./fedora.qcow2 --default-instancetype u1.small --default-preference fedora",
        ),
        Example(
            "Fetch it, and make sure that it is the right one",
            "virtshape image add debian https://images.example/debian.qcow2 --checksum sha256:2c26b46b...",
        ),
        Example(
            "Take it out of a container image",
            "virtshape image add cirros docker://quay.io/kubevirt/cirros-container-disk-demo",
        ),
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("origin", metavar="FILE|URL")
@click.option("--namespace", "-n", metavar="NS", default="default", show_default=True, help="Where the image is to be.")
@click.option("--size", type=Size(), help="Size of the disk; that of the image, if not given.")
@click.option("--checksum", metavar="ALGORITHM:HEX", help="What the file behind a URL must hash to.")
@click.option("--default-instancetype", metavar="NAME", help="Instance type of VMs that ask the image for one.")
@click.option("--default-instancetype-kind", metavar="KIND", help="Its kind, if it is not a cluster-wide one.")
@click.option("--default-preference", metavar="NAME", help="Preference of VMs that ask the image for one.")
@click.option("--default-preference-kind", metavar="KIND", help="Its kind, if it is not a cluster-wide one.")
@output_choice("table", "json", "yaml", help="How to print what was added.")
@data_directory_option
def command(
    name: str,
    origin: str,
    namespace: str,
    size: "Quantity | None",
    checksum: str | None,
    default_instancetype: str | None,
    default_instancetype_kind: str | None,
    default_preference: str | None,
    default_preference_kind: str | None,
    output: str,
    directory: Path,
) -> None:
    """
    Add the disk image in FILE or behind URL as NAME, and wait until VMs can be made from it.

    Raw and qcow2 images are read, also compressed with gz or xz. A URL begins with http://, https:// or docker://, the
    last for a disk in a container image. The system must be running; a FILE is copied into its data directory.
    """
    # Imported now, since reading help needs no server.
    from virtshape.standalone.images import NewImage

    is_url = urlsplit(origin).scheme in SCHEMES and "://" in origin
    if checksum and not is_url:
        raise NotUnderstood("--checksum is for what is fetched from a URL")
    wanted = NewImage(
        name=name,
        namespace=namespace,
        file=None if is_url else find_file(origin),
        url=origin if is_url else "",
        checksum=checksum or "",
        size=size,
        defaults=read_defaults(
            ("instancetype", default_instancetype, default_instancetype_kind),
            ("preference", default_preference, default_preference_kind),
        ),
    )
    add(directory.absolute(), wanted, output)


def find_file(origin: str) -> Path:
    """The file that is meant."""
    path = Path(origin)
    if not path.is_file():
        hint = "is no file" if path.exists() else "does not exist"
        raise Refusal(f"{origin} {hint}", next_step="Name a file, or an address that begins with http:// or https://.")
    return path.absolute()


def read_defaults(*given: "tuple[InferredRole, str | None, str | None]") -> "dict[InferredRole, Default]":
    """What goes with the image; a kind without a name is refused."""
    from virtshape.standalone.images import Default

    for role, name, kind in given:
        if kind and not name:
            raise NotUnderstood(f"--default-{role}-kind needs --default-{role}")
    return {role: Default(name, kind or "") for role, name, kind in given if name}


def add(directory: Path, wanted: "NewImage", output: str) -> None:
    """Have the image added, and print it."""
    from virtshape.api.status import StatusError
    from virtshape.cli.image.list import print_images
    from virtshape.cli.progress import Progress
    from virtshape.cli.user.system import ask_system
    from virtshape.standalone.images import ImageError, add_image
    from virtshape.store.lock import find_holder

    flag = name_flag(directory)
    if find_holder(directory) is None:
        raise Refusal("no system runs that could take the image", next_step=f"Start it first: virtshape up{flag}")
    lines = {stage: Progress(f"{stage} {wanted.name}, percent") for stage in ("copying", "importing")}

    def tell(stage: "Stage", percent: float) -> None:
        lines[stage].show(int(percent), 100)

    try:
        image = ask_system(directory, lambda client: add_image(client, directory, wanted, tell))
    except ImageError as error:
        raise Refusal(f"{wanted.name} was not added: {error}") from None
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        step = f"Remove it first: virtshape image rm {wanted.name} --namespace {wanted.namespace}{flag}"
        raise Refusal(error.message, next_step=step) from None
    finally:
        for line in lines.values():
            line.clear()
    print_images([image], output)
