"""
`virtctl drift`: which VMs of a server hold copies of an instance type or preference that are not what is live now.

Only reads, and only says: what a VM holds is changed elsewhere.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from virtshape.api.kinds import KINDS
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.drifting import Holder, Survey, survey_all, survey_named
from virtshape.cli.errors import REFUSED, Refusal
from virtshape.cli.expand import show_value
from virtshape.cli.output import print_object, print_table
from virtshape.resolve.drift import Change
from virtshape.resolve.reference import Reference

COLUMNS = ("NAMESPACE", "VM", "ROLE", "OBJECT", "REVISION", "STATE")
ABSENT = "<none>"


@click.command(
    "drift",
    cls=Command,
    short_help="Show which VMs hold older copies of their instance type or preference.",
    examples=[
        Example("All VMs of the namespace", "virtctl drift"),
        Example("What has changed for one VM", "virtctl drift web --fields"),
        Example("In a pipeline: fail if anything in the cluster has drifted", "virtctl drift -A --exit-code"),
        Example(
            "The VMs whose object has changed", "virtctl drift -A -o json | jq '.[] | select(.state == \"changed\")'"
        ),
    ],
)
@click.argument("names", metavar="[VM]...", nargs=-1, shell_complete=complete_vm)
@switch("-A", "--all-namespaces", default=False, help="All VMs of all namespaces.")
@switch("--fields", default=False, help="Show each field that has changed: what the VM holds, and what is live now.")
@switch("--exit-code", "sets_status", default=False, help="Exit with 1 if anything is changed or gone.")
@output_choice("table", "json", "yaml", help="How to print; json and yaml always have the fields.")
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
    Print what VMs hold of their instance type, preference or flavor beside what is live now.

    A VM keeps the instance type and preference that it began with, as a copy in a ControllerRevision, also when these
    are changed later. The state of a copy is `same`, `changed`, `gone` if the live object does not exist any more, or
    `older version` if only the API version differs. VMs that hold no copy are left out.

    The exit status is 0 whatever the states are, unless --exit-code is given; 1 if something cannot be compared.
    """
    if names and all_namespaces:
        raise click.UsageError("a VM is named in one namespace: use -n in place of -A", click.get_current_context())

    async def survey(session: Session) -> Survey:
        if names:
            return await survey_named(session, names)
        return await survey_all(session, "" if all_namespaces else session.namespace)

    holders, problems = run_session(target, survey)
    print_holders(holders, output, fields=fields)
    if problems:
        step = "See what the VMs refer to: kubectl get vm,controllerrevisions"
        count = "1 revision" if len(problems) == 1 else f"{len(problems)} revisions"
        raise Refusal(f"{count} cannot be compared", problems, step)
    if sets_status and any(holder.drift.has_drifted for holder in holders):
        click.get_current_context().exit(REFUSED)


def print_holders(holders: Sequence[Holder], output: str, *, fields: bool) -> None:
    """Print the state of each revision; with fields, a row for each that has changed."""
    if output != "table":
        print_object([describe_holder(holder) for holder in holders], output)
    elif not holders:
        click.echo("no VM here holds a copy of an instance type or preference", err=True)
    elif fields:
        print_table([*COLUMNS, "FIELD"], [row for holder in holders for row in list_rows(holder)])
    else:
        print_table(COLUMNS, map(describe_row, holders))


def list_rows(holder: Holder) -> Iterator[list[str]]:
    """A row for each field that has changed, or one if none has."""
    row = describe_row(holder)
    texts = [describe_change(change) for change in holder.drift.changes]
    return ([*row, text] for text in texts or [""])


def describe_row(holder: Holder) -> list[str]:
    """A revision that a VM holds, as the row of a table."""
    drift = holder.drift
    return [holder.namespace, holder.vm, drift.role, describe_object(drift.object), drift.revision, drift.state]


def describe_object(reference: Reference) -> str:
    """An object as kubectl takes it: `virtualmachineinstancetype/small`."""
    named = (kind.singular for kind in KINDS if (kind.group, kind.kind) == (reference.group, reference.kind))
    return f"{next(named)}/{reference.name}"


def describe_change(change: Change) -> str:
    """A changed field on one line: `spec.cpu.guest: 2 -> 4`."""
    then, now = (ABSENT if value is None else show_value(value) for value in (change.then, change.now))
    return f"{change.field}: {then} -> {now}"


def describe_holder(holder: Holder) -> dict[str, Any]:
    """A revision that a VM holds, as a tree."""
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
