"""
`virtctl expand`: VMs of a server or out of files, with their instance type and preference applied and written out.

Prints all VMs or, if one cannot be expanded, none. Of files, a server is asked only where that is wished for.
"""

import json
from collections.abc import Sequence
from typing import Any

import click

from virtshape.api.kubevirt.machine import VirtualMachine
from virtshape.cli import expanding
from virtshape.cli.command import Command, Example, switch
from virtshape.cli.connection import Target, complete_vm, connection_options, run_session
from virtshape.cli.errors import Refusal, warn
from virtshape.cli.expanding import expand_machine
from virtshape.cli.files import files_option
from virtshape.cli.output import print_object, print_objects, print_table
from virtshape.offline.expansion import ExpandedVM, expand_entries
from virtshape.offline.files import Loaded, load
from virtshape.offline.origins import Origin

LONGEST_VALUE = 60


@click.command(
    "expand",
    cls=Command,
    short_help="Show a VM with its instance type and preference applied.",
    examples=[
        Example("A VM of the server", "virtctl expand --vm web"),
        Example("A VM that names types of the built-in catalogue", "virtctl expand -f vm.yaml"),
        Example("A VM beside instance types of one's own", "virtctl expand -f vm.yaml -f instancetypes/"),
        Example("What a new VM becomes", "virtctl create vm --instancetype u1.medium | virtctl expand -f -"),
        Example("A VM that names types of the server", "virtctl expand -f vm.yaml --from-server"),
        Example("Where each field comes from", "virtctl expand -f vm.yaml --explain"),
        Example(
            "What the instance type decides",
            "virtctl expand -f vm.yaml --explain -o json | jq '.[] | select(.source == \"instance type\")'",
        ),
    ],
)
@click.option("--vm", metavar="NAME", shell_complete=complete_vm, help="The VM of a server that is to be expanded.")
@files_option
@switch(
    "--from-server",
    default=False,
    help="Have the server expand the files' VMs, with its own instance types; --context and -n ask for that too.",
)
@click.option(
    "--catalog/--no-catalog",
    default=True,
    show_default=True,
    help="Whether instance types and preferences that the files lack are looked up in the built-in catalogue.",
)
@switch("--explain", default=False, help="Print where each field comes from, in place of the VM.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "table"]),
    help="How to print: yaml if not given, and with --explain table.",
)
@connection_options
def command(
    *,
    vm: str | None,
    files: Sequence[str],
    from_server: bool,
    catalog: bool,
    explain: bool,
    output: str | None,
    target: Target,
) -> None:
    """
    Print VMs with all that their instance type and preference say written out.

    A server is asked for a VM that it has, and for VMs of files with --from-server, --kubeconfig, --context or -n.
    It then knows only itself: of the files the VMs alone are sent. All else is done without a server:

    The files hold the VMs and whatever they refer to: instance types, preferences, stored revisions, and the claims,
    data volumes, data sources and snapshots that these are inferred from. The configuration of a KubeVirt object
    counts too. An object of the files comes before one of the catalogue with the same name.
    """
    check_flags(vm, files, from_server=from_server, table=output == "table" and not explain)
    expanded: Sequence[ExpandedVM]
    if vm is not None:
        expanded = [run_session(target, lambda session: expand_machine(session, vm, explain=explain))]
    elif from_server or any(target):
        expanded = expand_files_on_server(target, files, explain=explain)
    else:
        expanded = expand_files(files, catalog=catalog, explain=explain)
    for text in [text for each in expanded for text in each.warnings]:
        warn(text)
    if explain:
        print_origins(expanded, output or "table")
    else:
        print_vms(expanded, output or "yaml")


def check_flags(vm: str | None, files: Sequence[str], *, from_server: bool, table: bool) -> None:
    """Refuse flags that do not go together."""
    ctx = click.get_current_context()
    if vm is None and not files:
        raise click.UsageError("nothing to expand: name a VM of the server with --vm, or a file with -f", ctx)
    if vm is not None and (files or from_server):
        other = "-f" if files else "--from-server, which is for files"
        raise click.UsageError(f"--vm does not go with {other}", ctx)
    if table:
        raise click.UsageError("-o table goes with --explain only", ctx)


def expand_files(files: Sequence[str], *, catalog: bool, explain: bool) -> Sequence[ExpandedVM]:
    """Expand the VMs of files with what else stands there, and tell what is wrong with that."""
    loaded = load(files)
    loaded.raise_problems()
    refuse_without_vm(loaded)
    expansion = expand_entries(loaded.entries, catalog=catalog, explain=explain)
    for text in expansion.warnings:
        warn(text)
    return expansion.vms


def expand_files_on_server(target: Target, files: Sequence[str], *, explain: bool) -> Sequence[ExpandedVM]:
    """Have a server expand the VMs of files; what else stands there has no say."""
    loaded = load(files)
    loaded.raise_problems()
    refuse_without_vm(loaded)
    vms = [entry for entry in loaded.entries if isinstance(entry.object, VirtualMachine)]
    others = len(loaded.entries) + len(loaded.skipped) - len(vms)
    if others:
        warn(f"{others} objects of the files are no VMs: the server does not see them")
    return run_session(target, lambda session: expanding.expand_entries(session, vms, explain=explain))


def refuse_without_vm(loaded: Loaded) -> None:
    """Refuse files without a VM, and say what they hold instead."""
    if any(isinstance(entry.object, VirtualMachine) for entry in loaded.entries):
        return
    trees = [entry.document.tree for entry in loaded.entries] + [document.tree for document in loaded.skipped]
    kinds = [str(tree.get("kind") or "object without a kind") for tree in trees if isinstance(tree, dict)]
    content = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "no objects at all"
    raise Refusal(f"there is no VirtualMachine in the files: they hold {content}")


def print_vms(vms: Sequence[ExpandedVM], output: str) -> None:
    """Print the VM, or several as one text."""
    trees = [vm.tree for vm in vms]
    if len(trees) == 1:
        print_object(trees[0], output)
    else:
        print_objects(trees, output)


def print_origins(vms: Sequence[ExpandedVM], output: str) -> None:
    """Print where each field comes from; of several VMs, with the VM's name."""
    origins = [(vm.name if len(vms) > 1 else None, origin) for vm in vms for origin in vm.origins]
    if output == "table":
        rows = [[vm or "", each.field, show_value(each.value), each.words] for vm, each in origins]
        first = 0 if len(vms) > 1 else 1
        print_table(["VM", "FIELD", "VALUE", "SOURCE"][first:], [row[first:] for row in rows])
    else:
        print_object([describe_origin(each, vm) for vm, each in origins], output)


def describe_origin(origin: Origin, vm: str | None) -> dict[str, Any]:
    """Write an origin as a tree; a VM only where there are several, a revision only where one was used."""
    tree = {"vm": vm, **origin._asdict()}
    return {key: value for key, value in tree.items() if value is not None or key not in ("vm", "revision")}


def show_value(value: object) -> str:
    """Show a value on one short line."""
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
