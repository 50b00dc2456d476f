"""`virtctl pause`, `unpause`, `soft-reboot` and `reset`: pause, resume and reboot guests."""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.guest.instance import (
    act_on_instance,
    dry_run_option,
    instance_argument,
    instance_output_option,
    kind_argument,
    parse_kind,
)


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
