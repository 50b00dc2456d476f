"""
`virtctl migrate-type`: move VMs from one instance type or preference to another one.

Only the matcher of each VM is changed; the server then stores a new revision. No guest is restarted.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_source, read_source
from virtshape.cli.drift import Known, describe_change, fetch_missing, read_all, read_named
from virtshape.cli.errors import ArgumentError, CommandError, warn
from virtshape.cli.expand import find_configuration
from virtshape.cli.output import print_object, print_table
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.controllers.vm.migratetype import plan_move
from virtshape.offline.sources import CLUSTER_KINDS, get_source
from virtshape.resolve.find import namespace_of
from virtshape.resolve.matcher import FLAVOR_GROUP, KINDS, Role
from virtshape.resolve.move import Destination, Move, describe_move, uses
from virtshape.resolve.reference import Lookup, NotFoundError, Reference

COLUMNS = ("NAMESPACE", "VM", "APPLIES", "FIELD")
FLAVORS_BY_NAME = {name: kind for kind in KINDS["flavor"][1:] for name in (kind.lower(), f"{kind.lower()}s")}
"""The kinds of flavors by the names that kubectl accepts."""
UNCHANGED = "none"
PlanVM = Callable[[VirtualMachine, Lookup], Move]
UNKNOWN = "unknown, since the stored revision was deleted"


class Source(NamedTuple):
    """The kind and name of the instance type or preference that VMs stop using."""

    kind: str
    name: str


class Route(NamedTuple):
    """The object that VMs stop using, and the one that they use instead."""

    old: Source
    to: Destination


class Step(NamedTuple):
    """A VM and its planned move to another instance type or preference."""

    vm: VirtualMachine
    move: Move

    @property
    def label(self) -> str:
        """The VM's namespace and name."""
        return f"{namespace_of(self.vm)}/{self.vm.metadata.name}"


class Plan(NamedTuple):
    """The VMs that move, those whose planned move has problems, and a message for each other VM that cannot move."""

    steps: list[Step]
    stuck: list[Step]
    problems: list[str]


@click.command(
    "migrate-type",
    cls=Command,
    short_help="Move VMs to another instance type or preference.",
    examples=[
        Example("Show what changes for each VM", "virtctl migrate-type u1.medium u1.large --dry-run"),
        Example("Move all VMs of the cluster", "virtctl migrate-type -A u1.medium u1.large"),
        Example("Move one VM", "virtctl migrate-type u1.medium u1.large web"),
        Example(
            "Replace a namespaced preference with a cluster-wide one",
            "virtctl migrate-type vmpref/ours fedora",
        ),
        Example(
            "Replace a flavor with an instance type",
            "virtctl migrate-type virtualmachineclusterflavor/small u1.small",
        ),
        Example(
            "List the VMs that cannot move, with the reasons",
            "virtctl migrate-type -A u1.medium u1.large --dry-run -o json | jq '.[] | select(.problems != [])'",
        ),
    ],
)
@click.argument("old", metavar="[KIND/]OLD", shell_complete=complete_source)
@click.argument("new", metavar="[KIND/]NEW", shell_complete=complete_source)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("-A", "--all-namespaces", default=False, help="Move the VMs in all namespaces.")
@switch("--dry-run", default=False, help="Show the changes and validate them on the server without applying them.")
@output_choice("table", "json", "yaml", help="Output format; json and yaml include the VMs that cannot move.")
@connection_options
def command(
    *, old: str, new: str, names: Sequence[str], all_namespaces: bool, dry_run: bool, output: str, target: Target
) -> None:
    """
    Move VMs from the instance type or preference OLD to NEW, such as the replacement of a deprecated one.

    All VMs in the namespace that use OLD are moved, or only the given ones. OLD and NEW are cluster-wide objects unless
    KIND is given, in any spelling that kubectl accepts. OLD may have been deleted. OLD may be a flavor if NEW is an
    instance type; the preference of such a VM must exist in instancetype.kubevirt.io. The command prints the fields of
    each instance that change. A running guest is not restarted: it gets the changes immediately where they can be
    hot-plugged, else at its next restart.

    Exit status: 0 success, 1 if a VM cannot move; the reasons are printed, and the other VMs are moved.
    """
    if names and all_namespaces:
        raise click.UsageError("VM names require one namespace: use -n instead of -A", click.get_current_context())
    problems = Problems()
    olds, old_name = read_old(old, problems)
    news, new_name = read_source(new, problems) if find_flavor_kind(new) is None else ((), "")
    if not news:
        problems.lines.append("NEW is a flavor: VMs move from flavors to instance types, not to flavors")
    problems.raise_all()

    async def migrate(session: Session) -> Plan:
        route = await find_route(session, (olds, old_name), (news, new_name))
        plan = await make_plan(session, route, names, everywhere=all_namespaces)
        done = await apply_plan(session, plan.steps, dry_run=dry_run)
        return Plan(done.steps, plan.stuck, [*plan.problems, *done.problems])

    plan = run_session(target, migrate)
    for text in dict.fromkeys(text for step in plan.steps for text in step.move.warnings):
        warn(text)
    print_plan(plan, output, dry_run=dry_run)
    reasons = [f"{step.label}: {reason}" for step in plan.stuck for reason in step.move.problems]
    count = len(plan.stuck) + len(plan.problems)
    if count:
        raise CommandError(f"{count} VM{'' if count == 1 else 's'} cannot move", [*reasons, *plan.problems])


def find_flavor_kind(text: str) -> str | None:
    """Return the kind of a flavor in KIND/NAME, or None for other kinds and names without a kind."""
    kind = text.rpartition("/")[0].lower().removesuffix(f".{FLAVOR_GROUP}")
    return FLAVORS_BY_NAME.get(kind)


def read_old(text: str, problems: Problems) -> tuple[Sequence[str], str]:
    """Parse [KIND/]NAME, where KIND may be that of a flavor; return the possible kinds and the name."""
    flavor = find_flavor_kind(text)
    return ((flavor,), text.rpartition("/")[2]) if flavor is not None else read_source(text, problems)


async def find_route(session: Session, old: tuple[Sequence[str], str], new: tuple[Sequence[str], str]) -> Route:
    """Return the old and the new object; raise ArgumentError if they differ in type, StatusError if NEW is missing."""
    (olds, old_name), (news, new_name) = old, new
    if len(news) > 1 and len(olds) == 1:  # only OLD has a kind, so NEW is of the same type
        news = tuple(kind for kind in CLUSTER_KINDS if get_role(kind) == get_role(olds[0]))
    if news[0] in CLUSTER_KINDS:  # a namespaced object is looked up in the namespace of each VM
        entries = await ServerObjects(session).find_sources(new_name, news)
        news = (get_source(new_name, news, entries, with_catalog=False, elsewhere=PLACE).object.kind,)
    to = Destination(get_role(news[0]), news[0], new_name)
    kind = olds[0] if len(olds) == 1 else KINDS[to.role].cluster
    if get_role(kind) != to.role:
        raise ArgumentError(f"OLD is a {kind} and NEW is a {to.kind}: both must be instance types, or both preferences")
    if (kind, old_name) == (to.kind, to.name):
        raise ArgumentError(f"OLD and NEW are both {kind} {old_name}")
    return Route(Source(kind, old_name), to)


def get_role(kind: str) -> Role:
    """Return the role of objects of this kind in a VM; a flavor counts as an instance type."""
    return "preference" if kind.endswith("Preference") else "instancetype"


async def make_plan(session: Session, route: Route, names: Sequence[str], *, everywhere: bool) -> Plan:
    """Plan the move of the given VMs, or of all VMs that use the old object."""
    namespace = "" if everywhere else session.namespace
    reading = await (read_named(session, names, "move") if names else read_all(session, namespace))
    old, to = route
    vms = [vm for vm in reading.vms if uses(vm, *old)]
    if not vms and not names:
        await require_source(session, old)
    plan = Plan([], [], [])
    for vm in reading.vms if names else ():
        if vm not in vms:
            plan.problems.append(f"{namespace_of(vm)}/{vm.metadata.name}: does not use {old.kind} {old.name}")
    instances = await list_instances(session, namespace)
    configuration = await find_configuration(session)

    def plan_vm(vm: VirtualMachine, lookup: Lookup) -> Move:
        vmi = instances.get((namespace_of(vm), vm.metadata.name or ""))
        return plan_move(vm, vmi, to, lookup, configuration)

    known = await fetch_objects(session, reading.known, vms, plan_vm)
    for vm in vms:
        try:
            step = Step(vm, plan_vm(vm, known.get))
        except StatusError as error:
            plan.problems.append(f"{namespace_of(vm)}/{vm.metadata.name}: {error.message}")
        else:
            (plan.stuck if step.move.problems else plan.steps).append(step)
    return plan


async def require_source(session: Session, old: Source) -> None:
    """Raise StatusError, with similar names of instance types and preferences, if the object does not exist."""
    if old.kind in FLAVORS_BY_NAME.values():
        namespace = "" if old.kind == KINDS["flavor"].cluster else session.namespace
        reference = Reference(FLAVOR_GROUP, old.kind, namespace, old.name)
        if await ServerObjects(session).fetch(reference) is None:
            raise NotFoundError(reference, "")
        return
    entries = await ServerObjects(session).find_sources(old.name, (old.kind,))
    get_source(old.name, (old.kind,), entries, with_catalog=False, elsewhere=PLACE)


async def list_instances(session: Session, namespace: str) -> dict[tuple[str, str], VirtualMachineInstance]:
    """Return all instances by namespace and name; none if the user may not list them."""
    try:
        listing = await session.client.list(VirtualMachineInstance, namespace)
    except StatusError as error:
        if error.code != 403:
            raise
        return {}
    return {(vmi.metadata.namespace or "", vmi.metadata.name or ""): vmi for vmi in listing.items}


async def fetch_objects(session: Session, known: Known, vms: Sequence[VirtualMachine], plan_vm: PlanVM) -> Known:
    """Fetch all objects that the plans need."""

    def look_up(lookup: Lookup) -> None:
        for vm in vms:
            with suppress(StatusError):  # the error is reported after all objects are fetched
                plan_vm(vm, lookup)

    await fetch_missing(session, known, look_up)
    return known


async def apply_plan(session: Session, steps: Sequence[Step], *, dry_run: bool) -> Plan:
    """Move VMs on the server; return the steps of the moved VMs, and a message for each VM that could not be moved."""
    plan = Plan([], [], [])
    for step in steps:
        name, namespace = step.vm.metadata.name or "", namespace_of(step.vm)
        try:
            await session.client.patch(VirtualMachine, name, namespace, patch=step.move.patch, dry_run=dry_run)
        except StatusError as error:
            plan.problems.append(f"{step.label}: {error.message}")
        else:
            plan.steps.append(step)
    return plan


def print_plan(plan: Plan, output: str, *, dry_run: bool) -> None:
    """Print the changes of each VM and the number of VMs."""
    if output != "table":
        print_object([describe_step(step) for step in (*plan.steps, *plan.stuck)], output)
        return
    if plan.steps:
        print_table(COLUMNS, [row for step in plan.steps for row in list_rows(step)])
        count = "1 VM" if len(plan.steps) == 1 else f"{len(plan.steps)} VMs"
        click.echo(f"{count} {'would be moved; run without --dry-run to apply' if dry_run else 'moved'}", err=True)
    elif not plan.stuck and not plan.problems:
        click.echo("nothing to move: no VM uses OLD", err=True)


def list_rows(step: Step) -> Iterator[list[str]]:
    """Return a row per changed field of the instance, or one row if no change is known."""
    row = [namespace_of(step.vm), step.vm.metadata.name or "", step.move.applies]
    changes = step.move.changes
    texts = [describe_change(change) for change in changes or ()]
    return ([*row, text] for text in texts or [UNKNOWN if changes is None else UNCHANGED])


def describe_step(step: Step) -> JsonObject:
    """Return a VM and its move as a JSON object."""
    return {"namespace": namespace_of(step.vm), "vm": step.vm.metadata.name, **to_tree(describe_move(step.move))}
