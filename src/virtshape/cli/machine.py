"""
What commands about one VM of a server have in common: its name, how it is asked for an action, what is then said.

Sends one request. Whether the VM can do what it is asked for is the server's to say.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from virtshape.cli.command import switch
from virtshape.cli.connection import Session, Target, complete_vm, run_session
from virtshape.cli.errors import NotUnderstood, Refusal, suggest

if TYPE_CHECKING:
    from virtshape.api.status import StatusError

MACHINE_WORDS = ("vm", "vms", "virtualmachine", "virtualmachines")

machine_argument = click.argument("name", metavar="NAME", shell_complete=complete_vm)
dry_run_option = switch("--dry-run", default=False, help="Have the server check the request, and change nothing.")
force_option = switch("--force", default=False, help="Do not wait for the guest; goes with --grace-period.")
machine_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the VM as it is then, in place of the words.",
)


def read_machine(text: str) -> str:
    """The name of a VM, also where its kind stands before it as in `vm/web`."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.lower() not in MACHINE_WORDS:
        raise NotUnderstood(f'"{kind}" is no VM: write NAME or vm/NAME', next_step=f"For example: vm/{name}")
    return name


def act_on_machine(
    target: Target, text: str, action: str, options: Mapping[str, Any], *, dry_run: bool, output: str | None
) -> None:
    """Ask a server to do something with a VM, and say that it was taken on."""
    name = read_machine(text)
    wanted = {**options, **({"dryRun": ["All"]} if dry_run else {})}

    async def ask(session: Session) -> Any:
        from virtshape.api.kubevirt.machine import VirtualMachine
        from virtshape.api.status import StatusError
        from virtshape.client.actions import request_action

        try:
            await request_action(session.client, session.namespace, "virtualmachines", name, action, wanted)
        except StatusError as error:
            raise await explain_refusal(session, name, action, error) from error
        if output in ("yaml", "json"):
            return await session.client.get(VirtualMachine, name, session.namespace)
        return None

    tell_scheduled(run_session(target, ask), "VM", "virtualmachine", name, action, output, dry_run=dry_run)


def tell_scheduled(
    found: Any, what: str, resource: str, name: str, action: str, output: str | None, *, dry_run: bool
) -> None:
    """Say that something was taken on, in words, by name, or as the object that was found then."""
    if found is not None:
        from virtshape.cli.output import print_object

        print_object(found, output or "yaml")
    elif output == "name":
        click.echo(f"{resource}.kubevirt.io/{name}")
    else:
        if dry_run:
            click.echo("Dry Run execution")
        click.echo(f"{what} {name} was scheduled to {action}")


async def explain_refusal(session: Session, name: str, action: str, error: "StatusError") -> "Refusal | StatusError":
    """The same refusal, with what to do about it: near names if there is no such VM."""
    where = f"-n {session.namespace}"
    if error.code == 409:
        start = f"virtctl start {name} {where}"
        step = f"Start it: {start}" if action == "restart" else f"See how it is: kubectl get vm {name} {where}"
        return Refusal(error.message, next_step=step)
    names = await list_machines(session) if error.code == 404 else None
    if names is None:
        return error
    words = f'there is no VM "{name}" in namespace {session.namespace}{suggest(name, names)}'
    return Refusal(words, next_step=f"See which VMs there are: kubectl get vm {where}")


async def list_machines(session: Session) -> list[str] | None:
    """The names of all VMs of the namespace; None for a user who may not list them."""
    from virtshape.api.kubevirt.machine import VirtualMachine
    from virtshape.api.status import StatusError

    try:
        listing = await session.client.list(VirtualMachine, session.namespace)
    except StatusError:
        return None
    return [vm.metadata.name or "" for vm in listing.items if vm.metadata]


def read_grace_period(force: bool, period: int | None) -> int | None:
    """How long the guest has to end by itself, if that is to be cut short; both flags go together."""
    if force != (period is not None):
        raise click.UsageError("Must both use --force=true and set --grace-period.", click.get_current_context())
    return period
