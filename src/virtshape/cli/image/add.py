"""`virtshape image add`: create a PVC and a DataSource from a file or URL."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import ArgumentError, CommandError
from virtshape.cli.paramtypes import Size

if TYPE_CHECKING:
    from virtshape.api.quantity import Quantity
    from virtshape.resolve.infer import InferredRole
    from virtshape.standalone.images import Default, NewImage, Stage

SCHEMES = ("http", "https", "docker")


@click.command(
    "add",
    cls=Command,
    short_help="Add a disk image from a file or URL.",
    examples=[
        Example(
            "Add a local file with a default instance type and preference",
            "virtshape image add fedora ./fedora.qcow2 --default-instancetype u1.small --default-preference fedora",
        ),
        Example(
            "Download an image and verify its checksum",
            "virtshape image add debian https://images.example/debian.qcow2 --checksum sha256:2c26b46b...",
        ),
        Example(
            "Extract the disk of a container image",
            "virtshape image add cirros docker://quay.io/kubevirt/cirros-container-disk-demo",
        ),
    ],
)
@click.argument("name", metavar="NAME")
@click.argument("origin", metavar="FILE|URL")
@click.option("--namespace", "-n", metavar="NS", default="default", show_default=True, help="Namespace of the image.")
@click.option("--size", type=Size(), help="Size of the disk. [default: the size of the image]")
@click.option("--checksum", metavar="ALGORITHM:HEX", help="Expected checksum of a downloaded file.")
@click.option("--default-instancetype", metavar="NAME", help="Default instance type, for VMs that infer it.")
@click.option(
    "--default-instancetype-kind",
    metavar="KIND",
    help="Kind of the default instance type. [default: the cluster-wide kind]",
)
@click.option("--default-preference", metavar="NAME", help="Default preference, for VMs that infer it.")
@click.option(
    "--default-preference-kind", metavar="KIND", help="Kind of the default preference. [default: the cluster-wide kind]"
)
@output_choice("table", "json", "yaml", help="Output format.")
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
    Add the disk image in FILE or at URL as NAME, and wait until it is ready.

    Images can be raw or qcow2, optionally compressed with gzip or xz. A URL starts with http://, https:// or, for a
    disk in a container image, docker://. The server must be running; FILE is copied to its data directory.
    """
    # Imported here to keep `--help` fast.
    from virtshape.standalone.images import NewImage

    is_url = urlsplit(origin).scheme in SCHEMES and "://" in origin
    if checksum and not is_url:
        raise ArgumentError("--checksum requires a URL")
    wanted = NewImage(
        name=name,
        namespace=namespace,
        file=None if is_url else get_file(origin),
        url=origin if is_url else "",
        checksum=checksum or "",
        size=size,
        defaults=read_defaults(
            ("instancetype", default_instancetype, default_instancetype_kind),
            ("preference", default_preference, default_preference_kind),
        ),
    )
    add(directory.absolute(), wanted, output)


def get_file(origin: str) -> Path:
    """Return the absolute path of the file; raise CommandError if it is not a file."""
    path = Path(origin)
    if not path.is_file():
        hint = "is not a file" if path.exists() else "does not exist"
        raise CommandError(f"{origin} {hint}", next_step="Use a file, or a URL that starts with http:// or https://.")
    return path.absolute()


def read_defaults(*given: "tuple[InferredRole, str | None, str | None]") -> "dict[InferredRole, Default]":
    """Return the defaults of the image; raise ArgumentError for a kind without a name."""
    from virtshape.standalone.images import Default

    for role, name, kind in given:
        if kind and not name:
            raise ArgumentError(f"--default-{role}-kind requires --default-{role}")
    return {role: Default(name, kind or "") for role, name, kind in given if name}


def add(directory: Path, wanted: "NewImage", output: str) -> None:
    """Add the image and print it."""
    from virtshape.api.status import StatusError
    from virtshape.cli.image.list import print_images
    from virtshape.cli.progress import Progress
    from virtshape.cli.user.system import run_with_client
    from virtshape.standalone.images import ImageError, add_image
    from virtshape.store.lock import find_holder

    flag = name_flag(directory)
    if find_holder(directory) is None:
        raise CommandError("the server is not running", next_step=f"Start it first: virtshape up{flag}")
    lines = {stage: Progress(f"{stage} {wanted.name}, percent") for stage in ("copying", "importing")}

    def show_progress(stage: "Stage", percent: float) -> None:
        lines[stage].show(int(percent), 100)

    try:
        image = run_with_client(directory, lambda client: add_image(client, directory, wanted, show_progress))
    except ImageError as error:
        raise CommandError(f"{wanted.name} was not added: {error}") from None
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        step = f"Remove it first: virtshape image rm {wanted.name} --namespace {wanted.namespace}{flag}"
        raise CommandError(error.message, next_step=step) from None
    finally:
        for line in lines.values():
            line.clear()
    print_images([image], output)
