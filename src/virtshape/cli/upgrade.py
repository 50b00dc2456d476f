"""
`virtctl upgrade`: has VMs of a server use their instance type and preference as they are now, or shows what that means.

Changes names of revisions only; the copies are made by the server, and no guest is restarted.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.drift import describe_change, describe_object
from virtshape.cli.errors import Refusal, warn
from virtshape.cli.output import print_object, print_table
from virtshape.cli.upgrading import Plan, Step, carry_out, plan_all, plan_named

COLUMNS = ("NAMESPACE", "VM", "OBJECTS", "APPLIES", "FIELD")
UNCHANGED = "none"


@click.command(
    "upgrade",
    cls=Command,
    short_help="Have VMs use their instance type and preference as they are now.",
    examples=[
        Example("What would change in one VM", "virtctl upgrade web --dry-run"),
        Example("Do it, and have the running guest get it", "virtctl upgrade web && virtctl restart web"),
        Example("All VMs of the namespace", "virtctl upgrade --all"),
        Example(
            "The VMs of the cluster whose guests would get another size",
            "virtctl upgrade -A --dry-run -o json | "
            "jq '.[] | select(any(.changes[]; .field | test(\"cpu|memory\"))) | .vm'",
        ),
    ],
)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("--all", "everything", default=False, help="All VMs of the namespace.")
@switch("-A", "--all-namespaces", default=False, help="All VMs of all namespaces.")
@switch("--dry-run", default=False, help="Show what would change and have the server check it, but change nothing.")
@output_choice("table", "json", "yaml", help="How to print.")
@connection_options
def command(
    *,
    names: Sequence[str],
    everything: bool,
    all_namespaces: bool,
    dry_run: bool,
    output: str,
    target: Target,
) -> None:
    """
    Have VMs use their instance type, preference or flavor as it is now, in place of the copy that they hold.

    A VM keeps what it began with as a copy in a ControllerRevision, also when the live object is changed later. This
    clears the name of each copy that has been left behind, so that a new one is made; `virtctl drift` shows which have.
    Printed is what changes in the VM's instance, field by field. A guest that is running gets it at its next restart,
    unless it can grow before; nothing is restarted here. VMs whose copies are up to date are left alone, and so are
    copies of objects that do not exist any more.

    The exit status is 1 if a VM cannot be upgraded, since what is live now does not go with it; the others still are.
    """
    check_choice(names, everything=everything, all_namespaces=all_namespaces)

    async def upgrade(session: Session) -> Plan:
        if names:
            plan = await plan_named(session, names)
        else:
            plan = await plan_all(session, "" if all_namespaces else session.namespace)
        tell_gone(plan.steps)
        behind = [step for step in plan.steps if step.upgrade.behind]
        done = await carry_out(session, behind, dry_run=dry_run)
        return Plan(done.steps, [*plan.problems, *done.problems])

    steps, problems = run_session(target, upgrade)
    if steps or not problems or output != "table":
        print_steps(steps, output, dry_run=dry_run)
    if problems:
        count = "1 VM cannot be upgraded" if len(problems) == 1 else f"{len(problems)} VMs cannot be upgraded"
        raise Refusal(count, problems, "See what has changed: virtctl drift --fields")


def check_choice(names: Sequence[str], *, everything: bool, all_namespaces: bool) -> None:
    """Refuse a command line that does not say which VMs are meant."""
    ctx = click.get_current_context()
    if names and (everything or all_namespaces):
        raise click.UsageError(f"VMs are named, or all are meant: remove {'-A' if all_namespaces else '--all'}", ctx)
    if not (names or everything or all_namespaces):
        raise click.UsageError("no VM to upgrade: name some, or all of the namespace with --all", ctx)


def tell_gone(steps: Sequence[Step]) -> None:
    """Warn of copies that are all there is left."""
    for step in steps:
        for drift in step.upgrade.gone:
            kept = f"{describe_object(drift.object)} does not exist any more; its copy {drift.revision} is kept"
            warn(f"{step.namespace}/{step.name}: {kept}")


def print_steps(steps: Sequence[Step], output: str, *, dry_run: bool) -> None:
    """Print what changes in each VM, and how many there are."""
    if output != "table":
        print_object([describe_step(step) for step in steps], output)
        return
    if not steps:
        click.echo("nothing to upgrade: no VM here has been left behind", err=True)
        return
    print_table(COLUMNS, [row for step in steps for row in list_rows(step)])
    count = "1 VM" if len(steps) == 1 else f"{len(steps)} VMs"
    done = "would be upgraded; leave out --dry-run to do it" if dry_run else "upgraded"
    click.echo(f"{count} {done}", err=True)


def list_rows(step: Step) -> Iterator[list[str]]:
    """A row for each field that changes, or one if none does."""
    objects = ",".join(describe_object(drift.object) for drift in step.upgrade.behind)
    row = [step.namespace, step.name, objects, "at restart" if step.is_running else "at start"]
    texts = [describe_change(change) for change in step.upgrade.changes]
    return ([*row, text] for text in texts or [UNCHANGED])


def describe_step(step: Step) -> dict[str, Any]:
    """A VM and what it gets, as a tree."""
    return {
        "namespace": step.namespace,
        "vm": step.name,
        "running": step.is_running,
        "revisions": [
            {
                "role": drift.role,
                "kind": drift.object.kind,
                "object": drift.object.name,
                "revision": drift.revision,
                "state": drift.state,
            }
            for drift in step.upgrade.behind
        ],
        "changes": [change._asdict() for change in step.upgrade.changes],
    }
