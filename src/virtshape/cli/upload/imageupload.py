"""`virtctl image-upload`: upload a local disk image to a new or existing PVC or DataVolume."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import Command, Example, Integer, OneOf, switch
from virtshape.cli.connection import Session, Target, complete_names, connection_options, current_target, run_session
from virtshape.cli.paramtypes import Size
from virtshape.cli.upload.flags import KINDS, parse_flags

_NAMES = {"pvc": "persistentvolumeclaim", "dv": "datavolume.cdi.kubevirt.io"}


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the kind."""
    return [CompletionItem(word) for word in ("pvc", "dv", "datavolume") if word.startswith(incomplete.lower())]


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of PVCs or DataVolumes."""
    from virtshape.api.cdi import DataVolume
    from virtshape.api.core.claim import PersistentVolumeClaim

    kind = DataVolume if KINDS.get(str(ctx.params.get("kind")).lower()) == "dv" else PersistentVolumeClaim
    return complete_names(current_target(ctx), kind, incomplete)


@click.command(
    "image-upload",
    cls=Command,
    short_help="Upload a disk image to a PVC or DataVolume.",
    examples=[
        Example("Upload to a new DataVolume", "virtctl image-upload dv fedora --size 10Gi --image-path ./fedora.qcow2"),
        Example(
            "Upload to a new PVC with a default instance type and preference",
            "virtctl image-upload pvc fedora --size 10Gi --image-path ./fedora.qcow2 --default-instancetype u1.small "
            "--default-preference fedora",
        ),
        Example("Upload to an existing PVC", "virtctl image-upload pvc data --no-create --image-path ./data.img.gz"),
        Example("Upload an archive of files", "virtctl image-upload dv web --size 1Gi --archive-path ./web.tar"),
        Example(
            "Use a local upload proxy",
            "virtctl image-upload dv fedora --size 10Gi --image-path ./fedora.qcow2 "
            "--uploadproxy-url https://localhost:8443 --insecure",
        ),
    ],
)
@click.argument("kind", metavar="pvc|dv|datavolume", required=False, shell_complete=complete_kind)
@click.argument("name", metavar="NAME", required=False, shell_complete=complete_target)
@click.option(
    "--image-path",
    metavar="FILE",
    type=click.Path(),
    help="Disk image to upload: raw or qcow2, optionally compressed with gz or xz.",
)
@click.option(
    "--archive-path", metavar="FILE", type=click.Path(), help="Archive of files to upload, instead of an image."
)
@click.option("--size", type=Size(), help="Size of the new PVC, such as 10Gi.")
@click.option("--storage-class", metavar="NAME", default="", help="Storage class of the PVC, instead of the default.")
@click.option(
    "--access-mode",
    type=OneOf("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "ReadOnlyMany"),
    help="Access mode of the PVC.",
)
@click.option("--volume-mode", type=OneOf("block", "filesystem"), help="Volume mode of the PVC.")
@switch("--force-bind", default=False, help="Bind a PVC whose storage class waits for the first consumer.")
@switch("--no-create", default=False, help="Upload to an existing PVC or DataVolume.")
@switch("--force", default=False, help="Upload to a PVC that already has data. The data is replaced.")
@switch("--datasource", default=False, help="Create a DataSource of the same name for the PVC.")
@click.option(
    "--default-instancetype", metavar="NAME", default="", help="Default instance type, for VMs that infer it."
)
@click.option(
    "--default-instancetype-kind",
    type=OneOf("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"),
    help="Kind of the default instance type. [default: the cluster-wide kind]",
)
@click.option("--default-preference", metavar="NAME", default="", help="Default preference, for VMs that infer it.")
@click.option(
    "--default-preference-kind",
    type=OneOf("VirtualMachinePreference", "VirtualMachineClusterPreference"),
    help="Kind of the default preference. [default: the cluster-wide kind]",
)
@click.option(
    "--uploadproxy-url",
    "proxy",
    metavar="URL",
    default="",
    help="URL of the upload proxy, instead of the one in the CDI configuration.",
)
@switch("--insecure", default=False, help="Do not verify the certificate of the upload proxy.")
@click.option(
    "--wait-secs",
    "wait_seconds",
    type=Integer(0, 60 * 60 * 24),
    metavar="SECONDS",
    default=300,
    show_default=True,
    help="How long to wait until the PVC is ready for the upload.",
)
@click.option(
    "--retry",
    "tries",
    type=Integer(1, 100),
    metavar="TIMES",
    default=5,
    show_default=True,
    help="Number of attempts if the connection fails or the upload proxy returns a server error.",
)
@click.option("--pvc-name", metavar="NAME", hidden=True, help="Deprecated: use `pvc NAME`.")
@click.option("--pvc-size", type=Size(), hidden=True, help="Deprecated: use --size.")
@switch("--block-volume", default=False, hidden=True, help="Deprecated: use --volume-mode block.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the PVC or DataVolume at the end; messages go to standard error.",
)
@connection_options
def command(*, output: str | None, target: Target, **flags: Any) -> None:
    """
    Upload a local disk image to the PVC or DataVolume NAME, and wait until it is ready.

    The PVC or DataVolume is created with --size, unless it exists and waits for an upload. If the upload fails or is
    interrupted, objects created for it are removed. After all data is sent, Ctrl+C only stops waiting.

    Exit status: 0 uploaded and ready, 1 failed, 130 interrupted.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.upload.uploading import upload_image

    wanted = parse_flags(**flags)

    def say(message: str) -> None:
        click.echo(message, err=output is not None)

    async def run(session: Session) -> Any:
        return await upload_image(session, wanted, say)

    uploaded = run_session(target, run)
    if output == "name":
        click.echo(f"{_NAMES[wanted.kind]}/{wanted.name}")
    elif output is not None:
        from virtshape.cli.output import print_object

        print_object(uploaded, output)
