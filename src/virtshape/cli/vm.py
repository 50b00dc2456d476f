"""Arguments, requests and errors of commands that act on one VM."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from virtshape.cli.command import switch
from virtshape.cli.connection import Session, Target, complete_vm, run_session
from virtshape.cli.errors import ArgumentError, CommandError, suggest

if TYPE_CHECKING:
    from virtshape.api.status import StatusError

VM_KINDS = ("vm", "vms", "virtualmachine", "virtualmachines")

vm_argument = click.argument("name", metavar="NAME", shell_complete=complete_vm)
dry_run_option = switch("--dry-run", default=False, help="Validate the request on the server without applying it.")
vm_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the VM in this format instead of a message.",
)


def parse_vm_name(text: str) -> str:
    """Return the name in NAME or vm/NAME."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in VM_KINDS:
        raise ArgumentError(f'"{kind}" is not a VM: write NAME or vm/NAME', next_step=f"For example: vm/{name}")
    return name


def act_on_vm(
    target: Target, text: str, action: str, options: Mapping[str, Any], *, dry_run: bool, output: str | None
) -> None:
    """Request an action on a VM and print the result."""
    name = parse_vm_name(text)
    body = {**options, **({"dryRun": ["All"]} if dry_run else {})}

    async def act(session: Session) -> Any:
        from virtshape.api.kubevirt.virtualmachine import VirtualMachine
        from virtshape.api.status import StatusError
        from virtshape.client.actions import request_action

        try:
            await request_action(session.client, session.namespace, "virtualmachines", name, action, body)
        except StatusError as error:
            raise await explain_vm_error(session, name, action, error) from error
        if output in ("yaml", "json"):
            return await session.client.get(VirtualMachine, name, session.namespace)
        return None

    print_scheduled(run_session(target, act), "VM", "virtualmachine", name, action, output, dry_run=dry_run)


def print_scheduled(
    found: Any, what: str, resource: str, name: str, action: str, output: str | None, *, dry_run: bool
) -> None:
    """Print that an action was accepted: as a message, as a resource name, or as the object."""
    if found is not None:
        from virtshape.cli.output import print_object

        print_object(found, output or "yaml")
    elif output == "name":
        click.echo(f"{resource}.kubevirt.io/{name}")
    else:
        if dry_run:
            click.echo("Dry Run execution")
        click.echo(f"{what} {name} was scheduled to {action}")


async def explain_vm_error(
    session: Session, name: str, action: str, error: "StatusError"
) -> "CommandError | StatusError":
    """Return a CommandError with a next step for a conflict or a missing VM; return other errors unchanged."""
    where = f"-n {session.namespace}"
    if error.code == 409:
        start_command = f"virtctl start {name} {where}"
        step = (
            f"Start it: {start_command}" if action == "restart" else f"Check its status: kubectl get vm {name} {where}"
        )
        return CommandError(error.message, next_step=step)
    names = await list_vm_names(session) if error.code == 404 else None
    if names is None:
        return error
    message = f'VM "{name}" not found in namespace {session.namespace}{suggest(name, names)}'
    return CommandError(message, next_step=f"List the VMs: kubectl get vm {where}")


async def list_vm_names(session: Session) -> list[str] | None:
    """Return the names of all VMs in the namespace, or None if the user may not list them."""
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine
    from virtshape.api.status import StatusError

    try:
        listing = await session.client.list(VirtualMachine, session.namespace)
    except StatusError:
        return None
    return [vm.metadata.name or "" for vm in listing.items]
