"""
`virtctl image-upload`: sends a disk image of this machine to a claim or DataVolume, new or there already.

Only flags and output.
"""

from typing import Any

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import Command, Example, OneOf, WholeNumber, switch
from virtshape.cli.connection import Session, Target, complete_names, connection_options, current_target, run_session
from virtshape.cli.size import Size
from virtshape.cli.upload.flags import KINDS, read_wanted

_NAMES = {"pvc": "persistentvolumeclaim", "dv": "datavolume.cdi.kubevirt.io"}


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Offer what can be uploaded to."""
    return [CompletionItem(word) for word in ("pvc", "dv", "datavolume") if word.startswith(incomplete.lower())]


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - as above
    """Offer the claims or DataVolumes that begin so."""
    from virtshape.api.cdi import DataVolume
    from virtshape.api.core.claim import PersistentVolumeClaim

    kind = DataVolume if KINDS.get(str(ctx.params.get("kind")).lower()) == "dv" else PersistentVolumeClaim
    return complete_names(current_target(ctx), kind, incomplete)


@click.command(
    "image-upload",
    cls=Command,
    short_help="Upload a disk image to a claim or DataVolume.",
    examples=[
        Example("Fill a new DataVolume", "virtctl image-upload dv fedora --size 10Gi --image-path ./fedora.qcow2"),
        Example(
            "Fill a new claim, and say what goes with the image",
            "virtctl image-upload pvc fedora --size 10Gi --image-path ./fedora.qcow2 --default-instancetype u1.small "
            "--default-preference fedora",
        ),
        Example("Fill a claim that is there", "virtctl image-upload pvc data --no-create --image-path ./data.img.gz"),
        Example(
            "Fill it with the files of an archive", "virtctl image-upload dv web --size 1Gi --archive-path ./web.tar"
        ),
        Example(
            "Send it to an address that only this machine knows",
            "virtctl image-upload dv fedora --size 10Gi --image-path ./fedora.qcow2 "
            "--uploadproxy-url https://localhost:8443 --insecure",
        ),
    ],
)
@click.argument("kind", metavar="pvc|dv|datavolume", required=False, shell_complete=complete_kind)
@click.argument("name", metavar="NAME", required=False, shell_complete=complete_target)
@click.option(
    "--image-path", metavar="FILE", type=click.Path(), help="Disk image to upload: raw or qcow2, also gz or xz."
)
@click.option(
    "--archive-path", metavar="FILE", type=click.Path(), help="Archive of files to upload, in place of an image."
)
@click.option("--size", type=Size(), help="Size of the claim to make, such as 10Gi.")
@click.option(
    "--storage-class", metavar="NAME", default="", help="Storage class of the claim, in place of the default."
)
@click.option(
    "--access-mode",
    type=OneOf("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "ReadOnlyMany"),
    help="Who may use the claim at once.",
)
@click.option(
    "--volume-mode", type=OneOf("block", "filesystem"), help="Whether the claim is a device or a file system."
)
@switch("--force-bind", default=False, help="Bind a claim that would wait for its first VM.")
@switch("--no-create", default=False, help="Upload to what is there, and make nothing.")
@switch("--force", default=False, help="Upload to a claim that is filled already: what it holds is replaced.")
@switch("--datasource", default=False, help="Have a DataSource of the same name stand for the claim.")
@click.option(
    "--default-instancetype", metavar="NAME", default="", help="Instance type of VMs that ask the image for one."
)
@click.option(
    "--default-instancetype-kind",
    type=OneOf("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"),
    help="Its kind, if it is not a cluster-wide one.",
)
@click.option("--default-preference", metavar="NAME", default="", help="Preference of VMs that ask the image for one.")
@click.option(
    "--default-preference-kind",
    type=OneOf("VirtualMachinePreference", "VirtualMachineClusterPreference"),
    help="Its kind, if it is not a cluster-wide one.",
)
@click.option(
    "--uploadproxy-url",
    "proxy",
    metavar="URL",
    default="",
    help="Where to upload to, in place of what CDI's configuration says.",
)
@switch("--insecure", default=False, help="Trust whoever answers there.")
@click.option(
    "--wait-secs",
    "wait_seconds",
    type=WholeNumber(0, 60 * 60 * 24),
    metavar="SECONDS",
    default=300,
    show_default=True,
    help="How long to wait until the claim can be uploaded to.",
)
@click.option(
    "--retry",
    "tries",
    type=WholeNumber(1, 100),
    metavar="TIMES",
    default=5,
    show_default=True,
    help="How often to send it if the connection breaks.",
)
@click.option("--pvc-name", metavar="NAME", hidden=True, help="Older way to name a claim.")
@click.option("--pvc-size", type=Size(), hidden=True, help="Older way to say its size.")
@switch("--block-volume", default=False, hidden=True, help="Older way to ask for a device.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the claim or DataVolume at the end; the words go to standard error then.",
)
@connection_options
def command(*, output: str | None, target: Target, **flags: Any) -> None:
    """
    Upload the disk image in a file to the claim or DataVolume NAME, and wait until VMs can use it.

    A new one is made, with --size, unless there is one that waits for an upload. If the upload breaks off, by Ctrl+C
    or otherwise, what was made for it is removed again; once everything is sent, Ctrl+C only ends the waiting.

    Exit status: 0 uploaded and ready, 1 refused or failed, 130 interrupted.
    """
    # Imported now, since reading help needs no connection.
    from virtshape.cli.upload.uploading import upload_image

    wanted = read_wanted(**flags)

    def say(words: str) -> None:
        click.echo(words, err=output is not None)

    async def run(session: Session) -> Any:
        return await upload_image(session, wanted, say)

    uploaded = run_session(target, run)
    if output == "name":
        click.echo(f"{_NAMES[wanted.kind]}/{wanted.name}")
    elif output is not None:
        from virtshape.cli.output import print_object

        print_object(uploaded, output)
