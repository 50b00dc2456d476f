"""`virtctl start`, `stop` and `restart`, and helpers for commands that act on one VM."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from virtshape.cli.command import Command, Example, Integer, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.errors import ArgumentError, CommandError, suggest

if TYPE_CHECKING:
    from virtshape.api.status import StatusError

VM_KINDS = ("vm", "vms", "virtualmachine", "virtualmachines")

vm_argument = click.argument("name", metavar="NAME", shell_complete=complete_vm)
dry_run_option = switch("--dry-run", default=False, help="Validate the request on the server without applying it.")
force_option = switch(
    "--force", default=False, help="Stop the guest without a clean shutdown. Requires --grace-period."
)
vm_output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["name", "yaml", "json"]),
    help="Print the VM in this format instead of a message.",
)


@click.command(
    "start",
    cls=Command,
    short_help="Start a VM.",
    examples=[
        Example("Start a VM", "virtctl start web"),
        Example("Start a VM with its guest paused before the first instruction", "virtctl start web --paused"),
        Example("Check whether a VM in another namespace can be started", "virtctl start web -n team --dry-run"),
    ],
)
@vm_argument
@switch("--paused", default=False, help="Start with the guest paused. Use `virtctl unpause` to resume it.")
@dry_run_option
@vm_output_option
@connection_options
def start(*, name: str, paused: bool, dry_run: bool, output: str | None, target: Target) -> None:
    """
    Start the VM NAME.

    If the run strategy is Halted, it is set to Always (or `running` is set to true). With the strategies Manual and
    RerunOnFailure the VM is started and its strategy is kept.
    """
    act_on_vm(target, name, "start", {"paused": True} if paused else {}, dry_run=dry_run, output=output)


@click.command(
    "stop",
    cls=Command,
    short_help="Stop a VM.",
    examples=[
        Example("Shut down the guest", "virtctl stop web"),
        Example("Power off the guest after five seconds", "virtctl stop web --force --grace-period 5"),
    ],
)
@vm_argument
@force_option
@click.option(
    "--grace-period",
    type=Integer(0, 2**31 - 1),
    metavar="SECONDS",
    help="Time for the guest to shut down, instead of the VM's terminationGracePeriodSeconds.",
)
@dry_run_option
@vm_output_option
@connection_options
def stop(
    *, name: str, force: bool, grace_period: int | None, dry_run: bool, output: str | None, target: Target
) -> None:
    """
    Stop the VM NAME: shut down the guest, and power it off when the grace period ends.

    If the run strategy is Always, it is set to Halted (or `running` is set to false). With the strategies Manual and
    RerunOnFailure the VM is stopped and its strategy is kept.
    """
    period = validate_grace_period(force, grace_period)
    options = {} if period is None else {"gracePeriod": period}
    act_on_vm(target, name, "stop", options, dry_run=dry_run, output=output)


@click.command(
    "restart",
    cls=Command,
    short_help="Restart a VM.",
    examples=[
        Example("Shut down the guest and start it again", "virtctl restart web"),
        Example("Power it off and on immediately", "virtctl restart web --force --grace-period 0"),
    ],
)
@vm_argument
@force_option
@click.option(
    "--grace-period",
    type=Integer(0, 2**31 - 1),
    metavar="SECONDS",
    help="Time for the guest to shut down. Only 0 is supported.",
)
@dry_run_option
@vm_output_option
@connection_options
def restart(
    *, name: str, force: bool, grace_period: int | None, dry_run: bool, output: str | None, target: Target
) -> None:
    """
    Restart the VM NAME: delete its instance and create a new one.

    The new instance uses the VM's current spec, and the instance type and preference stored in its revisions.
    """
    period = validate_grace_period(force, grace_period)
    options = {} if period is None else {"gracePeriodSeconds": period}
    act_on_vm(target, name, "restart", options, dry_run=dry_run, output=output)


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
    """Return a CommandError with a next step and, if the VM does not exist, similar names; or the error itself."""
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


def validate_grace_period(force: bool, period: int | None) -> int | None:
    """Return the grace period; raise UsageError if only one of --force and --grace-period is given."""
    if force != (period is not None):
        raise click.UsageError("Must both use --force=true and set --grace-period.", click.get_current_context())
    return period
