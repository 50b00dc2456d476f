"""
`virtctl upgrade`: update VMs to their current instance type and preference.

The command clears the revision names in VMs and requests new revisions with an annotation; the server then stores
them. A stock KubeVirt does not know the annotation: the command clears the revision names in spec and status instead,
which requires permission to write the status. No guest is restarted.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.drift import Reading, describe_change, describe_object, fetch_missing, read_all, read_named
from virtshape.cli.errors import CommandError, warn
from virtshape.cli.expand import find_configuration
from virtshape.cli.output import print_object, print_table
from virtshape.client.actions import list_resources
from virtshape.controllers.vm.upgrade import (
    Upgrade,
    plan_upgrade,
    write_release,
    write_spec_release,
    write_status_release,
)
from virtshape.resolve.find import namespace_of
from virtshape.resolve.reference import Lookup

COLUMNS = ("NAMESPACE", "VM", "OBJECTS", "APPLIES", "FIELD")
VIRTSHAPE_RESOURCE = "explain-vm-spec"
"""A resource that virtshape serves and KubeVirt does not."""
UNCHANGED = "none"
UNKNOWN = "unknown, since the stored revision was deleted"


class Step(NamedTuple):
    """A VM and its planned upgrade."""

    vm: VirtualMachine
    upgrade: Upgrade

    @property
    def namespace(self) -> str:
        """The namespace of the VM."""
        return namespace_of(self.vm)

    @property
    def name(self) -> str:
        """The name of the VM."""
        return self.vm.metadata.name or ""

    @property
    def is_running(self) -> bool:
        """Whether the VM has an instance."""
        return bool(self.vm.status and self.vm.status.created)


class Plan(NamedTuple):
    """The upgrades of all VMs, even those that change nothing, and a message for each VM that cannot be upgraded."""

    steps: list[Step]
    problems: list[str]


@click.command(
    "upgrade",
    cls=Command,
    short_help="Update VMs to the current instance type and preference.",
    examples=[
        Example("Show the changes for one VM", "virtctl upgrade web --dry-run"),
        Example("Upgrade a VM and restart it", "virtctl upgrade web && virtctl restart web"),
        Example("Upgrade all VMs in the namespace", "virtctl upgrade --all"),
        Example("Repair a VM whose revision was deleted", "virtctl upgrade web"),
        Example(
            "List the VMs in the cluster whose size would change",
            "virtctl upgrade -A --dry-run -o json | "
            "jq '.[] | select(any(.changes[]; .field | test(\"cpu|memory\"))) | .vm'",
        ),
    ],
)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("--all", "everything", default=False, help="Upgrade all VMs in the namespace.")
@switch("-A", "--all-namespaces", default=False, help="Upgrade all VMs in all namespaces.")
@switch("--dry-run", default=False, help="Show the changes and validate them on the server without applying them.")
@output_choice("table", "json", "yaml", help="Output format.")
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
    Update VMs to the current instance type, preference or flavor, instead of the stored one.

    A VM stores its instance type and preference in a ControllerRevision, and keeps them when the objects change. This
    command clears the names of outdated revisions, which `virtctl drift` lists, so that the server stores new ones. The
    fields of the instance that change are printed. A running guest is not restarted: it gets the changes at its next
    restart, unless they can be hot-plugged. Current revisions are not changed, nor are revisions of deleted objects.

    A VM whose revision was deleted cannot start. This command repairs such a VM: the server stores a new revision of
    the current object. In this case it is unknown which fields change.

    Exit status: 0 success, 1 if the new objects conflict with a VM; the other VMs are upgraded.
    """
    validate_choice(names, everything=everything, all_namespaces=all_namespaces)

    async def upgrade(session: Session) -> Plan:
        if names:
            plan = await plan_named(session, names)
        else:
            plan = await plan_all(session, "" if all_namespaces else session.namespace)
        warn_about_deleted(plan.steps)
        behind = [step for step in plan.steps if step.upgrade.behind]
        done = await apply_plan(session, behind, dry_run=dry_run)
        return Plan(done.steps, [*plan.problems, *done.problems])

    steps, problems = run_session(target, upgrade)
    if steps or not problems or output != "table":
        print_steps(steps, output, dry_run=dry_run)
    if problems:
        count = "1 VM cannot be upgraded" if len(problems) == 1 else f"{len(problems)} VMs cannot be upgraded"
        raise CommandError(count, problems, "Show the changes: virtctl drift --fields")


def validate_choice(names: Sequence[str], *, everything: bool, all_namespaces: bool) -> None:
    """Raise UsageError unless either VM names, or --all or -A, are given."""
    ctx = click.get_current_context()
    if names and (everything or all_namespaces):
        raise click.UsageError(f"VM names and {'-A' if all_namespaces else '--all'} are mutually exclusive", ctx)
    if not (names or everything or all_namespaces):
        raise click.UsageError("no VM to upgrade: specify VM names, --all or -A", ctx)


def warn_about_deleted(steps: Sequence[Step]) -> None:
    """Warn about revisions whose object was deleted."""
    for step in steps:
        for drift in step.upgrade.gone:
            kept = f"{describe_object(drift.object)} was deleted; its revision {drift.revision} is kept"
            warn(f"{step.namespace}/{step.name}: {kept}")


def print_steps(steps: Sequence[Step], output: str, *, dry_run: bool) -> None:
    """Print the changes of each VM and the number of VMs."""
    if output != "table":
        print_object([describe_step(step) for step in steps], output)
        return
    if not steps:
        click.echo("nothing to upgrade: all VMs are current", err=True)
        return
    print_table(COLUMNS, [row for step in steps for row in list_rows(step)])
    count = "1 VM" if len(steps) == 1 else f"{len(steps)} VMs"
    done = "would be upgraded; run without --dry-run to apply" if dry_run else "upgraded"
    click.echo(f"{count} {done}", err=True)


def list_rows(step: Step) -> Iterator[list[str]]:
    """Return a row per changed field, or one row if none changes."""
    objects = ",".join(describe_object(drift.object) for drift in step.upgrade.behind)
    row = [step.namespace, step.name, objects, "at restart" if step.is_running else "at start"]
    texts = [describe_change(change) for change in step.upgrade.changes]
    unchanged = UNKNOWN if step.upgrade.has_unknown_changes else UNCHANGED
    return ([*row, text] for text in texts or [unchanged])


def describe_step(step: Step) -> JsonObject:
    """Return a VM and its changes as a JSON object."""
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


async def plan_named(session: Session, names: Sequence[str]) -> Plan:
    """Plan the upgrade of the named VMs."""
    return await _plan(session, await read_named(session, names, "upgrade"))


async def plan_all(session: Session, namespace: str) -> Plan:
    """Plan the upgrade of all VMs in a namespace, or in all namespaces if `namespace` is empty."""
    return await _plan(session, await read_all(session, namespace))


async def apply_plan(session: Session, steps: Sequence[Step], *, dry_run: bool) -> Plan:
    """Upgrade VMs on the server; return the applied steps, and a message for each VM that could not be upgraded."""
    plan = Plan([], [])
    is_virtshape = bool(steps) and VIRTSHAPE_RESOURCE in await list_resources(session.client)
    release = _release if is_virtshape else _release_in_kubevirt
    for step in steps:
        try:
            await release(session, step, dry_run=dry_run)
        except StatusError as error:
            plan.problems.append(f"{step.namespace}/{step.name}: {error.message}")
        else:
            plan.steps.append(step)
    return plan


async def _plan(session: Session, reading: Reading) -> Plan:
    configuration: KubeVirtConfiguration | None = await find_configuration(session)

    def look_up(lookup: Lookup) -> None:
        for vm in reading.vms:
            with suppress(StatusError):  # the loop below reports the error after all objects are fetched
                plan_upgrade(vm, lookup, configuration)

    await fetch_missing(session, reading.known, look_up)
    plan = Plan([], [])
    for vm in reading.vms:
        try:
            plan.steps.append(Step(vm, plan_upgrade(vm, reading.known.get, configuration)))
        except StatusError as error:
            name = vm.metadata.name or ""
            plan.problems.append(f"{namespace_of(vm)}/{name}: {error.message}")
    return plan


async def _release(session: Session, step: Step, *, dry_run: bool) -> None:
    patch = write_release(step.upgrade.roles)
    await session.client.patch(VirtualMachine, step.name, step.namespace, patch=patch, dry_run=dry_run)


async def _release_in_kubevirt(session: Session, step: Step, *, dry_run: bool) -> None:
    client, roles = session.client, step.upgrade.roles
    patch = write_spec_release(roles)
    released = await client.patch(VirtualMachine, step.name, step.namespace, patch=patch, dry_run=dry_run)
    further = write_status_release(released, roles)
    if further is not None:
        await client.patch(
            VirtualMachine, step.name, step.namespace, patch=further, subresource="status", dry_run=dry_run
        )
