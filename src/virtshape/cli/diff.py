"""
`virtctl diff`: compare two instance types, preferences or revisions, or show what another one would change in a VM.

The command reads from a server, files or the built-in catalog, and changes nothing.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import click

from virtshape.api.apps import ControllerRevision
from virtshape.api.codec import to_tree
from virtshape.api.conversion import read_revision_payload
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_KIND_LABEL
from virtshape.cli.command import Command, Example, files_option, output_choice, switch
from virtshape.cli.connection import (
    Session,
    Target,
    complete_vm,
    connection_options,
    run_session,
)
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_source, read_source
from virtshape.cli.drift import ABSENT, fetch_missing, read_named
from virtshape.cli.errors import FAILURE, ArgumentError, CommandError, warn
from virtshape.cli.expand import find_configuration, show_value
from virtshape.cli.localserver import NoServerError
from virtshape.cli.migratetype import UNKNOWN, get_role
from virtshape.cli.output import print_object, print_table
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.controllers.vm.migratetype import plan_move
from virtshape.engine.compare import Change
from virtshape.offline.files import Entry, load
from virtshape.offline.lint.context import LintContext
from virtshape.offline.objects import Objects
from virtshape.offline.sources import CLUSTER_KINDS, KINDS_BY_NAME, get_source
from virtshape.resolve.drift import compare_objects
from virtshape.resolve.find import namespace_of
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.move import Destination, Move, describe_move
from virtshape.resolve.reference import Lookup

SOURCE_KINDS = frozenset(KINDS_BY_NAME.values())
COLUMNS = ("PART", "FIELD", "FROM", "TO")
Named = tuple[Sequence[str], str]
"""The possible kinds and the name of an object."""


class Side(NamedTuple):
    """One of the two objects to compare: its kind and name, and the instance type or preference."""

    kind: str
    name: str
    object: Any


class Files(NamedTuple):
    """Objects from files or a server, and whether the catalog is searched too."""

    entries: Sequence[Entry]
    with_catalog: bool

    def get(self, named: Named) -> Any:
        """Return the instance type or preference; raise StatusError if it is missing or ambiguous."""
        sources = [entry for entry in self.entries if entry.object.kind in SOURCE_KINDS]
        return get_source(named[1], named[0], sources, with_catalog=self.with_catalog).object


@click.command(
    "diff",
    cls=Command,
    short_help="Compare instance types, preferences or revisions.",
    examples=[
        Example("Compare two instance types", "virtctl diff u1.medium u1.large"),
        Example(
            "Compare an instance type in a file with one of the catalog", "virtctl diff -f mine.yaml mine u1.medium"
        ),
        Example("Compare two stored revisions", "virtctl diff --revision web-u1.medium-1 web-u1.medium-2"),
        Example("Show what another instance type changes in a VM", "virtctl diff --vm web --to u1.large"),
        Example(
            "Show what another instance type changes in a VM in a file",
            "virtctl diff -f vm.yaml --vm web --to u1.large",
        ),
    ],
)
@click.argument("names", metavar="[[KIND/]A [KIND/]B]", nargs=-1, shell_complete=complete_source)
@switch("--revision", default=False, help="A and B are the names of ControllerRevisions.")
@click.option("--vm", metavar="NAME", shell_complete=complete_vm, help="VM to show the effect on; requires --to.")
@click.option(
    "--to",
    metavar="[KIND/]NAME",
    shell_complete=complete_source,
    help="Instance type or preference that the VM of --vm would use.",
)
@files_option
@switch("--catalog", default=None, help="Search the built-in catalog, after any files. [default: only with -f]")
@switch("--exit-code", "sets_status", default=False, help="Exit with 1 if there are differences.")
@output_choice("table", "json", "yaml", help="Output format.")
@connection_options
def command(
    *,
    names: Sequence[str],
    revision: bool,
    vm: str | None,
    to: str | None,
    files: Sequence[str],
    catalog: bool | None,
    sets_status: bool,
    output: str,
    target: Target,
) -> None:
    """
    Compare two instance types or preferences, or show what another one would change in a VM.

    A and B are cluster-wide objects unless KIND is given, in any spelling that kubectl accepts. A and B are read from
    the server, unless -f or --catalog is given. Without a server the built-in catalog is used. Quantities are compared
    by amount.

    With --vm and --to, the output shows the differences between the object that the VM uses (its stored revision, if it
    has one) and the object that --to names, and how the spec of the VM's instance changes. The output also states when
    a running instance gets the changes.

    Exit status: 0 success, 1 if the VM cannot use the object, or with --exit-code if there are differences.
    """
    validate_choice(names, vm, to, revision=revision)
    offline = read_files(files, with_catalog=catalog is not False) if files or catalog else None
    if vm is not None and to is not None:
        has_changes = diff_vm(target, offline, vm, parse_names([to])[0], output)
    elif revision:
        one, other = get_revisions(target, offline, names)
        has_changes = print_difference(one, other, output)
    else:
        one, other = get_objects(target, offline, parse_names(names))
        has_changes = print_difference(one, other, output)
    if sets_status and has_changes:
        click.get_current_context().exit(FAILURE)


def validate_choice(names: Sequence[str], vm: str | None, to: str | None, *, revision: bool) -> None:
    """Raise UsageError unless either two names or both --vm and --to are given."""
    ctx = click.get_current_context()
    if (vm is None) != (to is None):
        raise click.UsageError("--vm and --to must be used together", ctx)
    if vm is not None and (names or revision):
        raise click.UsageError(f"--vm cannot be used with {'--revision' if revision else 'names to compare'}", ctx)
    if vm is None and len(names) != 2:
        raise click.UsageError("nothing to compare: specify two names, or --vm and --to", ctx)


def parse_names(texts: Sequence[str]) -> list[Named]:
    """
    Parse texts of the form [KIND/]NAME; return the possible kinds and the name of each.

    A name without a kind refers to a cluster-wide object. If the other name has a kind, both have the same type.
    """
    problems = Problems()
    named = [read_source(text, problems) for text in texts]
    problems.raise_all()
    roles = {get_role(kinds[0]) for kinds, _ in named if len(kinds) == 1}
    if len(roles) == 1:
        alike = [kind for kind in CLUSTER_KINDS if get_role(kind) in roles]
        named = [(kinds if len(kinds) == 1 else alike, name) for kinds, name in named]
    return named


def read_files(paths: Sequence[str], *, with_catalog: bool) -> Files:
    """Read the objects in files; raise FilesError with all problems, if there are any."""
    loaded = load(paths)
    loaded.raise_problems()
    return Files(loaded.entries, with_catalog)


def get_objects(target: Target, offline: Files | None, named: Sequence[Named]) -> tuple[Side, Side]:
    """Return the two objects to compare; raise StatusError if one is missing, ArgumentError if their types differ."""
    if offline is None:
        offline = read_server(target, named)
    found = [offline.get(each) for each in named]
    one, other = (Side(each.kind, each.metadata.name or "", each) for each in found)
    if get_role(one.kind) != get_role(other.kind):
        raise ArgumentError(f"{one.name} is a {one.kind} and {other.name} a {other.kind}: these have no common fields")
    return one, other


def read_server(target: Target, named: Sequence[Named]) -> Files:
    """Return the objects with these names on the server, or the catalog if no server is configured."""

    async def read(session: Session) -> Files:
        cluster = ServerObjects(session)
        found = [entry for kinds, name in named for entry in await cluster.find_sources(name, kinds)]
        by_name = {(entry.object.kind, entry.object.metadata.name): entry for entry in found}
        return Files(list(by_name.values()), with_catalog=False)

    try:
        return run_session(target, read, instead="--catalog uses the built-in catalog instead.")
    except NoServerError:
        return Files((), with_catalog=True)


def get_revisions(target: Target, offline: Files | None, names: Sequence[str]) -> tuple[Side, Side]:
    """Return the objects in two revisions; raise CommandError or StatusError if they cannot be compared."""

    async def read(session: Session) -> list[ControllerRevision]:
        return [await session.client.get(ControllerRevision, name, session.namespace) for name in names]

    if offline is None:
        found = run_session(target, read)
    else:
        known = {
            entry.object.metadata.name: entry.object
            for entry in offline.entries
            if isinstance(entry.object, ControllerRevision)
        }
        missing = [name for name in names if name not in known]
        if missing:
            raise CommandError(f"no ControllerRevision {' or '.join(missing)} in the files")
        found = [known[name] for name in names]
    one, other = map(read_revision, found)
    if get_role(one.object.kind) != get_role(other.object.kind):
        raise ArgumentError(
            f"{one.name} has a {one.object.kind} and {other.name} a {other.object.kind}: they cannot be compared"
        )
    return one, other


def read_revision(revision: ControllerRevision) -> Side:
    """Return the object in a revision; raise CommandError if it is not an instance type or preference."""
    name, data = revision.metadata.name or "", revision.data
    stated = data.get("kind") if isinstance(data, dict) else None
    kind = stated or (revision.metadata.labels or {}).get(OBJECT_KIND_LABEL)
    if not kind:
        raise CommandError(f"ControllerRevision {name} has no instance type or preference")
    return Side("ControllerRevision", name, read_revision_payload(data, str(kind)))


def print_difference(one: Side, other: Side, output: str) -> bool:
    """Print the differences between two objects; return False if there are none."""
    changes = compare_objects(one.object, other.object)
    if output != "table":
        sides = {"from": describe_side(one), "to": describe_side(other)}
        print_object({**sides, "changes": [change._asdict() for change in changes]}, output)
    elif changes:
        print_table(["FIELD", one.name, other.name], [[change.field, *show_change(change)] for change in changes])
    else:
        click.echo("no differences", err=True)
    return bool(changes)


def diff_vm(target: Target, offline: Files | None, name: str, to: Named, output: str) -> bool:
    """Print what another instance type or preference changes in a VM; raise CommandError if the VM cannot use it."""
    if offline is None:
        vm, move = run_session(target, lambda session: plan_on_server(session, name, to))
    else:
        vm, move = plan_offline(offline, name, to)
    for text in move.warnings:
        warn(text)
    print_move(vm, move, output)
    if move.problems:
        raise CommandError(f"VM {vm.metadata.name} cannot use {move.new.name}", move.problems)
    return bool(move.fields or move.changes)


async def plan_on_server(session: Session, name: str, to: Named) -> tuple[VirtualMachine, Move]:
    """Return a VM on the server, and what changes if it uses another instance type or preference."""
    ((vm,), known) = await read_named(session, [name], "diff")
    kinds, new = to
    if kinds[0] in CLUSTER_KINDS:
        entries = await ServerObjects(session).find_sources(new, kinds)
        kinds = [get_source(new, kinds, entries, with_catalog=False, elsewhere=PLACE).object.kind]
    destination = Destination(get_role(kinds[0]), kinds[0], new)
    vmi = await find_instance(session, vm.metadata.name or "")
    configuration = await find_configuration(session)

    def look_up(lookup: Lookup) -> None:
        with suppress(StatusError):  # the call to plan_move below raises the error again
            plan_move(vm, vmi, destination, lookup, configuration)

    await fetch_missing(session, known, look_up)
    return vm, plan_move(vm, vmi, destination, known.get, configuration)


async def find_instance(session: Session, name: str) -> VirtualMachineInstance | None:
    """Return the instance of a VM, or None if it does not exist or the user may not read it."""
    try:
        return await session.client.get(VirtualMachineInstance, name, session.namespace)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        return None


def plan_offline(offline: Files, name: str, to: Named) -> tuple[VirtualMachine, Move]:
    """Return a VM in the files, and what changes if it uses another instance type or preference."""
    vms = [entry.object for entry in offline.entries if isinstance(entry.object, VirtualMachine)]
    found = [vm for vm in vms if vm.metadata.name == name]
    if len(found) != 1:
        known = ", ".join(vm.metadata.name or "without a name" for vm in vms) or "none"
        raise CommandError(f'{len(found) or "no"} VMs "{name}" in the files, which contain: {known}')
    others = [entry.object for entry in offline.entries if not isinstance(entry.object, VirtualMachine)]
    context = LintContext(Objects(others), catalog=offline.with_catalog)
    infer_matchers(found[0], context.find)
    new = offline.get(to)
    destination = Destination(get_role(new.kind), new.kind, to[1])
    installed = context.find_kubevirt()
    configuration = installed.spec.configuration if installed is not None else None
    return found[0], plan_move(found[0], None, destination, context.find, configuration)


def print_move(vm: VirtualMachine, move: Move, output: str) -> None:
    """Print what changes in a VM, and when its instance gets the changes."""
    if output != "table":
        print_object({"namespace": namespace_of(vm), "vm": vm.metadata.name, **to_tree(describe_move(move))}, output)
        return
    role = get_role(move.new.kind)
    part = "instance type" if role == "instancetype" else role
    renamed = Change(f"spec.{role}.name", move.old.name if move.old is not None else None, move.new.name)
    rows = [["VM", renamed.field, *show_change(renamed)]]
    rows += [[part, change.field, *show_change(change)] for change in move.fields or ()]
    rows += [["instance", change.field, *show_change(change)] for change in move.changes or ()]
    print_table(COLUMNS, rows)
    if move.changes is None and not move.problems:
        click.echo(f"the changes to the instance are {UNKNOWN}", err=True)
    elif not move.problems:
        reason = f": {move.restart_reason}" if move.restart_reason else ""
        click.echo(f"the instance changes {move.applies}{reason}", err=True)


def show_change(change: Change) -> list[str]:
    """Return the old and the new value of a field, each as one short line."""
    return [ABSENT if value is None else show_value(value) for value in (change.then, change.now)]


def describe_side(side: Side) -> JsonObject:
    """Return the kind and name of a compared object as a JSON object."""
    return {"kind": side.kind, "name": side.name}
