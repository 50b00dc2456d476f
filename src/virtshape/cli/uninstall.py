"""`virtshape uninstall`: remove an installation from a cluster, and list what is kept."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, switch
from virtshape.cli.component import namespace_option
from virtshape.cli.connection import Session, Target, complete_entry, run_session
from virtshape.cli.errors import ArgumentError, CommandError

if TYPE_CHECKING:
    from virtshape.cluster.uninstall.plan import Plan

MAX_LISTED = 20
AGAIN = "Run the command again to continue; objects that are already removed are skipped."


@click.command(
    "uninstall",
    cls=Command,
    short_help="Remove virtshape from a cluster.",
    examples=[
        Example("Show what would be removed and kept", "virtshape uninstall --dry-run"),
        Example("Remove virtshape, and keep all VMs as objects", "virtshape uninstall"),
        Example("Remove the CRDs and all VMs too, without confirmation", "virtshape uninstall --crds --yes"),
    ],
)
@switch("--dry-run", default=False, help="Only show what would be removed and kept.")
@switch("-y", "--yes", default=False, help="Do not ask for confirmation.")
@switch("--crds", default=False, help="Delete the CRDs too, with all VMs, instance types and preferences.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for guests to shut down, and for objects to be deleted.",
)
@namespace_option
@click.option("--context", metavar="NAME", default="", shell_complete=complete_entry, help="Kubeconfig context to use.")
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    type=click.Path(dir_okay=False),
    help="Path to the kubeconfig, instead of $KUBECONFIG or ~/.kube/config.",
)
def command(
    *, dry_run: bool, yes: bool, crds: bool, timeout: float, namespace: str, context: str, kubeconfig: str
) -> None:
    """
    Remove virtshape from a cluster: end all guests, clear virtshape's finalizers, and delete the components.

    Guests are shut down within their grace periods. Claims are never deleted. Without --crds, the VMs, instance types,
    preferences and DataVolumes are kept as objects: another installation starts the VMs that should run. Only objects
    that virtshape installed are deleted. The command works without running components, and completes a deletion that
    waits for virtshape's finalizers.

    Exit status: 0 removed, or nothing is installed; 1 something is left that should have been removed, or the answer
    was no; 2 invalid command line.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.uninstall.inventory import gather_inventory
    from virtshape.cluster.uninstall.plan import plan_uninstall
    from virtshape.cluster.uninstall.run import Uninstaller, UninstallError

    target = Target(kubeconfig, context)

    async def make_plan(session: Session) -> "tuple[Plan, str]":
        inventory = await gather_inventory(session.client, namespace)
        return plan_uninstall(inventory, with_definitions=crds), session.access.server

    plan, server = run_session(target, make_plan)
    if plan.is_empty:
        click.echo(f"virtshape is not installed in namespace {namespace} of {server}")
        return
    print_plan(plan, server, complete=dry_run)
    if dry_run:
        return
    if not yes:
        confirm()

    async def uninstall(session: Session) -> None:
        await Uninstaller(session.client, click.echo, timeout).run(plan)

    try:
        run_session(target, uninstall)
    except UninstallError as error:
        raise CommandError(error.message, error.left, AGAIN) from error
    click.echo("virtshape is removed")
    print_list("Left on the cluster:", plan.kept)


def confirm() -> None:
    """Ask the user to continue; raise CommandError if the answer is no, ArgumentError if there is no terminal."""
    if not sys.stdin.isatty():
        raise ArgumentError("--yes is required if standard input is not a terminal")
    if not click.confirm("Continue?"):
        raise CommandError("nothing was changed")


def print_plan(plan: "Plan", server: str, *, complete: bool) -> None:
    """Print the steps of the plan, and what is kept; if `complete`, list all objects."""
    # Imported here to keep `--help` fast.
    from virtshape.cluster.uninstall.plan import format_count

    names = [f"{vmi.metadata.namespace}/{vmi.metadata.name}" for vmi in plan.guests]
    objects = [*plan.objects, *plan.definitions, *plan.namespaces]
    vms, crds = format_count(len(plan.vms), "VM"), format_count(len(plan.definitions), "CRD")
    steps = [
        *([f"delete {plan.controller}"] if plan.controller is not None else []),
        *([f"end {format_count(len(names), 'guest')}: {', '.join(names[:MAX_LISTED])}"] if names else []),
        *([f"clear the finalizers of {vms}"] if plan.vms else []),
        *([f"delete {vms} and {crds} with all their objects"] if plan.deletes_vms else []),
        f"delete {format_count(len(objects), 'object')}",
    ]
    print_list(f"This removes virtshape from {server}:", steps)
    if complete:
        print_list("Objects to delete:", [str(one) for one in objects], limit=len(objects))
    print_list("This is kept:", plan.kept, limit=len(plan.kept) if complete else MAX_LISTED)


def print_list(title: str, lines: Sequence[str], limit: int = 10 * MAX_LISTED) -> None:
    """Print a title and indented lines, at most `limit`; print nothing if there are no lines."""
    if not lines:
        return
    click.echo("\n".join([title, *(f"  {line}" for line in lines[:limit])]))
    if len(lines) > limit:
        click.echo(f"  and {len(lines) - limit} more")
