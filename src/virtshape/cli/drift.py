"""
`virtctl drift`: show VMs whose stored instance type or preference differs from the live object.

The command only gets and lists VMs, revisions and live objects, so it works with a stock KubeVirt too.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import click

from virtshape.api.apps import ControllerRevision
from virtshape.api.kinds import KINDS
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import OBJECT_NAME_LABEL
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.errors import FAILURE, CommandError
from virtshape.cli.expand import show_value
from virtshape.cli.output import print_object, print_table
from virtshape.cli.serverobjects import ServerObjects
from virtshape.cli.vm import explain_vm_error, parse_vm_name
from virtshape.engine.compare import Change
from virtshape.resolve.drift import Drift, find_drift
from virtshape.resolve.find import namespace_of
from virtshape.resolve.matcher import KINDS as MATCHER_KINDS
from virtshape.resolve.matcher import Role
from virtshape.resolve.reference import Lookup, Reference

COLUMNS = ("NAMESPACE", "VM", "ROLE", "OBJECT", "REVISION", "STATE")
ABSENT = "<none>"
Known = dict[Reference, Model | None]


class Holder(NamedTuple):
    """A VM and how one of its revisions differs from the live object."""

    namespace: str
    vm: str
    drift: Drift


class Survey(NamedTuple):
    """The compared revisions of all VMs, and messages for the revisions that could not be compared."""

    holders: list[Holder]
    problems: list[str]


class Reading(NamedTuple):
    """VMs and the objects that they refer to; None for an object that does not exist."""

    vms: Sequence[VirtualMachine]
    known: Known


@click.command(
    "drift",
    cls=Command,
    short_help="Show VMs whose instance type or preference has changed.",
    examples=[
        Example("Check all VMs in the namespace", "virtctl drift"),
        Example("Show the changed fields of one VM", "virtctl drift web --fields"),
        Example("Fail a pipeline if any VM in the cluster has drifted", "virtctl drift -A --exit-code"),
        Example(
            "List the VMs whose instance type or preference has changed",
            "virtctl drift -A -o json | jq '.[] | select(.state == \"changed\")'",
        ),
    ],
)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("-A", "--all-namespaces", default=False, help="Check the VMs in all namespaces.")
@switch("--fields", default=False, help="Show each changed field with the stored and the live value.")
@switch(
    "--exit-code",
    "sets_status",
    default=False,
    help="Exit with 1 if any object is changed or gone, or a revision is missing.",
)
@output_choice("table", "json", "yaml", help="Output format; json and yaml always include the fields.")
@connection_options
def command(
    *,
    names: Sequence[str],
    all_namespaces: bool,
    fields: bool,
    sets_status: bool,
    output: str,
    target: Target,
) -> None:
    """
    Compare the instance type, preference or flavor stored for each VM with the live object.

    A VM stores its instance type and preference in a ControllerRevision when it is created, and keeps them when the
    objects change. The state of a revision is `same`, `changed`, `gone` if the live object was deleted, `missing` if
    the revision was deleted, or `older version` if only the API version differs. VMs without a revision are not listed.

    Exit status: 0 success, 1 if a revision cannot be compared; --exit-code adds more cases.
    """
    if names and all_namespaces:
        raise click.UsageError("VM names require one namespace: use -n instead of -A", click.get_current_context())

    async def survey(session: Session) -> Survey:
        if names:
            return await survey_named(session, names)
        return await survey_all(session, "" if all_namespaces else session.namespace)

    holders, problems = run_session(target, survey)
    print_holders(holders, output, fields=fields)
    if problems:
        step = "Check the VMs and their revisions: kubectl get vm,controllerrevisions"
        count = "1 revision" if len(problems) == 1 else f"{len(problems)} revisions"
        raise CommandError(f"{count} cannot be compared", problems, step)
    if sets_status and any(holder.drift.has_drifted for holder in holders):
        click.get_current_context().exit(FAILURE)


def print_holders(holders: Sequence[Holder], output: str, *, fields: bool) -> None:
    """Print the state of each revision; with `fields`, one row per changed field."""
    if output != "table":
        print_object([describe_holder(holder) for holder in holders], output)
    elif not holders:
        click.echo("no VM has a stored instance type or preference", err=True)
    elif fields:
        print_table([*COLUMNS, "FIELD"], [row for holder in holders for row in list_rows(holder)])
    else:
        print_table(COLUMNS, map(describe_row, holders))


def list_rows(holder: Holder) -> Iterator[list[str]]:
    """Return a row per changed field, or one row if none has changed."""
    row = describe_row(holder)
    texts = [describe_change(change) for change in holder.drift.changes]
    return ([*row, text] for text in texts or [""])


def describe_row(holder: Holder) -> list[str]:
    """Return the table row of a revision."""
    drift = holder.drift
    return [holder.namespace, holder.vm, drift.role, describe_object(drift.object), drift.revision, drift.state]


def describe_object(reference: Reference) -> str:
    """Return an object in kubectl's form: `virtualmachineinstancetype/small`."""
    named = (kind.singular for kind in KINDS if (kind.group, kind.kind) == (reference.group, reference.kind))
    return f"{next(named)}/{reference.name}"


def describe_change(change: Change) -> str:
    """Return a changed field as one line: `spec.cpu.guest: 2 -> 4`."""
    then, now = (ABSENT if value is None else show_value(value) for value in (change.then, change.now))
    return f"{change.field}: {then} -> {now}"


def describe_holder(holder: Holder) -> JsonObject:
    """Return the drift of a revision as a JSON object."""
    drift = holder.drift
    return {
        "namespace": holder.namespace,
        "vm": holder.vm,
        "role": drift.role,
        "kind": drift.object.kind,
        "object": drift.object.name,
        "revision": drift.revision,
        "state": drift.state,
        "changes": [change._asdict() for change in drift.changes],
    }


async def survey_named(session: Session, names: Sequence[str]) -> Survey:
    """Compare the revisions of the named VMs with the live objects."""
    return await _survey(session, await read_named(session, names))


async def survey_all(session: Session, namespace: str) -> Survey:
    """Compare the revisions of all VMs in a namespace (all namespaces if empty) with the live objects."""
    return await _survey(session, await read_all(session, namespace))


async def read_named(session: Session, names: Sequence[str], action: str = "drift") -> Reading:
    """Read the named VMs."""
    return Reading([await _get(session, parse_vm_name(name), action) for name in names], {})


async def read_all(session: Session, namespace: str) -> Reading:
    """Read all VMs in a namespace, or in all namespaces, and their revisions."""
    listing = await session.client.list(VirtualMachine, namespace)
    return Reading(listing.items, await _list_revisions(session, namespace))


async def fetch_missing(session: Session, known: Known, look_up: Callable[[Lookup], object]) -> None:
    """Call `look_up` and fetch the objects that it reports as missing, until none are missing."""
    cluster = ServerObjects(session)
    while True:
        missing: dict[Reference, None] = {}

        def look(reference: Reference, missing: dict[Reference, None] = missing) -> Model | None:
            if reference not in known:
                missing[reference] = None
            return known.get(reference)

        look_up(look)
        if not missing:
            return
        for reference in missing:
            known[reference] = await cluster.fetch(reference)


async def _get(session: Session, name: str, action: str) -> VirtualMachine:
    try:
        return await session.client.get(VirtualMachine, name, session.namespace)
    except StatusError as error:
        raise await explain_vm_error(session, name, action, error) from error


async def _list_revisions(session: Session, namespace: str) -> Known:
    """Fetch all revisions with one request; return none if the user may not list them."""
    try:
        listing = await session.client.list(ControllerRevision, namespace, labels=OBJECT_NAME_LABEL)
    except StatusError as error:
        if error.code != 403:
            raise
        return {}
    return {
        Reference("apps", "ControllerRevision", each.metadata.namespace or "", each.metadata.name or ""): each
        for each in listing.items
    }


async def _survey(session: Session, reading: Reading) -> Survey:
    def look_up(lookup: Lookup) -> None:
        for vm in reading.vms:
            for role in MATCHER_KINDS:
                with suppress(StatusError):  # _compare reports the error after all objects are fetched
                    find_drift(vm, role, lookup)

    await fetch_missing(session, reading.known, look_up)
    return _compare(*reading)


def _compare(vms: Sequence[VirtualMachine], known: Known) -> Survey:
    survey = Survey([], [])
    for vm in vms:
        namespace, name = namespace_of(vm), vm.metadata.name or ""
        for role in MATCHER_KINDS:
            try:
                drift = find_drift(vm, role, known.get)
            except StatusError as error:
                survey.problems.append(f"{namespace}/{name}: {describe(role)}: {error.message}")
            else:
                survey.holders.extend([] if drift is None else [Holder(namespace, name, drift)])
    return survey


def describe(role: Role) -> str:
    """Return a role as it is called in messages, such as "instance type"."""
    return "instance type" if role == "instancetype" else role
