"""`virtctl start`, `stop`, `restart`, `pause`, `unpause`, `soft-reboot` and `reset`."""

import click

from virtshape.cli.command import Command, Example, Integer, switch
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import (
    act_on_instance,
    dry_run_option,
    instance_argument,
    instance_output_option,
    kind_argument,
    parse_kind,
)
from virtshape.cli.vm import act_on_vm, vm_argument, vm_output_option

force_option = switch(
    "--force", default=False, help="Stop the guest without a clean shutdown. Requires --grace-period."
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
        Example("Power the guest off and on immediately", "virtctl restart web --force --grace-period 0"),
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


@click.command(
    "pause",
    cls=Command,
    short_help="Pause a VM.",
    examples=[
        Example("Pause a VM", "virtctl pause vm web"),
        Example("Check whether an instance can be paused", "virtctl pause vmi web --dry-run"),
    ],
)
@kind_argument
@instance_argument
@dry_run_option
@instance_output_option
@connection_options
def pause(*, kind: str, name: str, dry_run: bool, output: str | None, target: Target) -> None:
    """
    Pause the VM or instance NAME: stop its vCPUs and keep its memory.

    Use `virtctl unpause` to resume it.
    """
    parse_kind(kind)
    act_on_instance(target, name, "pause", "pause", dry_run=dry_run, output=output)


@click.command(
    "unpause",
    cls=Command,
    short_help="Resume a paused VM.",
    examples=[
        Example("Resume a VM", "virtctl unpause vm web"),
        Example("Check whether an instance can be resumed", "virtctl unpause vmi web --dry-run"),
    ],
)
@kind_argument
@instance_argument
@dry_run_option
@instance_output_option
@connection_options
def unpause(*, kind: str, name: str, dry_run: bool, output: str | None, target: Target) -> None:
    """Resume the paused VM or instance NAME."""
    parse_kind(kind)
    act_on_instance(target, name, "unpause", "unpause", dry_run=dry_run, output=output)


@click.command(
    "soft-reboot",
    cls=Command,
    short_help="Reboot a guest cleanly.",
    examples=[
        Example("Reboot a guest", "virtctl soft-reboot web"),
        Example("Reboot a guest in another namespace", "virtctl soft-reboot web -n team"),
    ],
)
@instance_argument
@instance_output_option
@connection_options
def soft_reboot(*, name: str, output: str | None, target: Target) -> None:
    """
    Ask the guest of the instance NAME to reboot, through the guest agent or ACPI.

    The instance is kept. `virtctl restart` creates a new instance; `virtctl reset` reboots without asking the guest.
    """
    act_on_instance(target, name, "soft-reboot", "softreboot", output=output)


@click.command(
    "reset",
    cls=Command,
    short_help="Hard-reset a guest.",
    examples=[
        Example("Reset a guest that hangs", "virtctl reset web"),
        Example("Reset a guest in another namespace", "virtctl reset web -n team"),
    ],
)
@instance_argument
@instance_output_option
@connection_options
def reset(*, name: str, output: str | None, target: Target) -> None:
    """
    Reset the guest of the instance NAME, like a reset button. Unwritten data in the guest is lost.

    The instance is kept. Use `virtctl soft-reboot` for a clean reboot.
    """
    act_on_instance(target, name, "reset", "reset", output=output)


def validate_grace_period(force: bool, period: int | None) -> int | None:
    """Return the grace period; raise UsageError if only one of --force and --grace-period is given."""
    if force != (period is not None):
        raise click.UsageError("Must both use --force=true and set --grace-period.", click.get_current_context())
    return period
