"""`virtctl addvolume` and `removevolume`: attach volumes to running VMs, and detach them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Session, Target, complete_vmi, connection_options, run_session
from virtshape.cli.errors import CommandError
from virtshape.cli.guest.instance import dry_run_option, explain_instance_error, parse_instance_name

if TYPE_CHECKING:
    from virtshape.api.status import StatusError

BUSES: Final = {"disk": ("scsi", "virtio"), "lun": ("scsi",)}
"""The buses, by disk type, on which QEMU can attach a disk to a running guest."""
_NOT_FOUND: Final = 404
CACHES: Final = ("none", "writethrough", "writeback")

volume_vm_argument = click.argument("name", metavar="NAME", shell_complete=complete_vmi)
persist_option = switch(
    "--persist", default=False, help="Deprecated: has no effect, because the volume is always kept in the VM's spec."
)


@click.command(
    "addvolume",
    cls=Command,
    short_help="Attach a volume to a running VM.",
    examples=[
        Example("Attach the DataVolume or PersistentVolumeClaim data", "virtctl addvolume web --volume-name=data"),
        Example(
            "Set the serial number that the guest sees", "virtctl addvolume web --volume-name=data --serial=1234567890"
        ),
        Example(
            "Attach a virtio disk without a host cache",
            "virtctl addvolume web --volume-name=data --bus=virtio --cache=none",
        ),
    ],
)
@volume_vm_argument
@click.option(
    "--volume-name",
    required=True,
    metavar="NAME",
    help="DataVolume or PersistentVolumeClaim to attach; also the name of the volume and its disk.",
)
@click.option("--serial", metavar="TEXT", help="Serial number of the disk. [default: the volume name]")
@click.option("--cache", type=click.Choice(CACHES), help="Cache mode of the disk. [default: chosen by the server]")
@click.option(
    "--disk-type", type=click.Choice(list(BUSES)), default="disk", show_default=True, help="Type of the disk."
)
@click.option("--bus", type=click.Choice(BUSES["disk"]), default="scsi", show_default=True, help="Bus of the disk.")
@persist_option
@dry_run_option
@connection_options
def addvolume(
    *,
    name: str,
    volume_name: str,
    serial: str | None,
    cache: str | None,
    disk_type: str,
    bus: str,
    persist: bool,
    dry_run: bool,
    target: Target,
) -> None:
    """
    Attach a volume to the VM or instance NAME while it runs.

    The volume is added to the VM's spec, so the VM has it after a restart too. Detach it with `virtctl removevolume`.
    """
    del persist
    if bus not in BUSES[disk_type]:
        message = f"Invalid bus type '{bus}' for LUN disk. Only 'scsi' bus is supported."
        raise CommandError(message, next_step="Leave out --bus, or use --disk-type=disk")
    disk: dict[str, Any] = {disk_type: {"bus": bus}, "serial": serial or volume_name}
    if disk_type == "lun" and not serial:
        del disk["serial"]  # a LUN has the serial number of its storage
    if cache:
        disk["cache"] = cache

    async def build(session: Session) -> Mapping[str, Any]:
        source = await require_source(session, volume_name)
        return {"name": volume_name, "disk": {"name": volume_name, **disk}, "volumeSource": source}

    change_volume(target, name, "addvolume", build, dry_run=dry_run)
    _print("add", name, volume_name, dry_run=dry_run)


@click.command(
    "removevolume",
    cls=Command,
    short_help="Detach a volume from a running VM.",
    examples=[
        Example("Detach the volume data", "virtctl removevolume web --volume-name=data"),
        Example("Check whether the volume can be detached", "virtctl removevolume web --volume-name=data --dry-run"),
    ],
)
@volume_vm_argument
@click.option("--volume-name", required=True, metavar="NAME", help="Name of the volume in the VM's spec.")
@persist_option
@dry_run_option
@connection_options
def removevolume(*, name: str, volume_name: str, persist: bool, dry_run: bool, target: Target) -> None:
    """
    Detach a volume from the VM or instance NAME while it runs, and remove it from the VM's spec.

    Only hotpluggable volumes can be detached, such as volumes that `virtctl addvolume` attached. The claim and its data
    are kept. Unmount the file systems of the volume in the guest first.
    """
    del persist

    async def build(_: Session) -> Mapping[str, Any]:
        return {"name": volume_name}

    change_volume(target, name, "removevolume", build, dry_run=dry_run)
    _print("remove", name, volume_name, dry_run=dry_run)


def change_volume(target: Target, text: str, action: str, build: Any, *, dry_run: bool) -> None:
    """Request the action on the VM, or on the instance if there is no such VM; `build` returns its options."""
    name = parse_instance_name(text)

    async def act(session: Session) -> None:
        from virtshape.api.status import StatusError
        from virtshape.client.actions import request_action

        options = {**await build(session), **({"dryRun": ["All"]} if dry_run else {})}
        where = session.client, session.namespace
        try:
            await request_action(*where, "virtualmachines", name, action, options)
        except StatusError as error:
            if error.code != _NOT_FOUND:
                raise await _explain(session, name, error) from error
        else:
            return
        try:
            await request_action(*where, "virtualmachineinstances", name, action, options)
        except StatusError as error:
            raise await _explain(session, name, error) from error

    run_session(target, act)


async def require_source(session: Session, name: str) -> Mapping[str, Any]:
    """Return a volume source: the DataVolume of this name, or else the claim; raise CommandError if neither exists."""
    from virtshape.api.cdi import DataVolume
    from virtshape.api.core.claim import PersistentVolumeClaim
    from virtshape.api.status import StatusError

    sources: tuple[tuple[type[Any], Mapping[str, Any]], ...] = (
        (DataVolume, {"dataVolume": {"name": name, "hotpluggable": True}}),
        (PersistentVolumeClaim, {"persistentVolumeClaim": {"claimName": name, "hotpluggable": True}}),
    )
    for kind, source in sources:
        try:
            await session.client.get(kind, name, session.namespace)
        except StatusError as error:
            if error.code != _NOT_FOUND:
                raise
        else:
            return source
    message = f"Volume {name} is not a DataVolume or PersistentVolumeClaim"
    raise CommandError(message, next_step=f"List the claims: kubectl get pvc -n {session.namespace}")


async def _explain(session: Session, name: str, error: "StatusError") -> "CommandError | StatusError":
    if error.code == _NOT_FOUND:
        return await explain_instance_error(session, name, error)
    return CommandError(error.message, next_step=f"Show its volumes: kubectl get vm {name} -o yaml")


def _print(verb: str, name: str, volume: str, *, dry_run: bool) -> None:
    if dry_run:
        click.echo("Dry Run execution")
    click.echo(f"Successfully submitted {verb} volume request to VM {parse_instance_name(name)} for volume {volume}")
