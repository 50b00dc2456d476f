"""`virtctl drift`: show VMs whose stored instance type or preference differs from the live object."""

from collections.abc import Iterator, Sequence

import click

from virtshape.api.kinds import KINDS
from virtshape.api.model import JsonObject
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.driftsurvey import Holder, Survey, survey_all, survey_named
from virtshape.cli.errors import FAILURE, CommandError
from virtshape.cli.expand import show_value
from virtshape.cli.output import print_object, print_table
from virtshape.resolve.drift import Change
from virtshape.resolve.reference import Reference

COLUMNS = ("NAMESPACE", "VM", "ROLE", "OBJECT", "REVISION", "STATE")
ABSENT = "<none>"


@click.command(
    "drift",
    cls=Command,
    short_help="Show VMs whose instance type or preference has changed.",
    examples=[
        Example("Check all VMs in the namespace", "virtctl drift"),
        Example("Show the changed fields of one VM", "virtctl drift web --fields"),
        Example("Fail a pipeline if any VM in the cluster has drifted", "virtctl drift -A --exit-code"),
        Example(
            "List the VMs whose object has changed",
            "virtctl drift -A -o json | jq '.[] | select(.state == \"changed\")'",
        ),
    ],
)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("-A", "--all-namespaces", default=False, help="Check the VMs in all namespaces.")
@switch("--fields", default=False, help="Show each changed field with the stored and the live value.")
@switch("--exit-code", "sets_status", default=False, help="Exit with 1 if any object is changed or gone.")
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
    objects change. The state of a revision is `same`, `changed`, `gone` if the live object was deleted, or
    `older version` if only the API version differs. VMs without a revision are not listed.

    Exit status: 0 unless --exit-code is given, 1 if a revision cannot be compared.
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
    """Return a revision as a tree."""
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
