"""
`virtctl expand`: print VMs from a server or from files with their instance type and preference applied.

The command prints all VMs, or none if one cannot be expanded. Servers do not report the source of fields, so with
--explain, the command fetches objects and expands the VM locally.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click
from msgspec.structs import replace

from virtshape.api.codec import duplicate, to_tree
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject, Model
from virtshape.api.status import StatusError
from virtshape.api.wellknown import KUBEVIRT
from virtshape.cli.command import Command, Example, files_option, switch
from virtshape.cli.connection import Session, Target, complete_vm, connection_options, run_session
from virtshape.cli.errors import CommandError, warn
from virtshape.cli.output import print_object, print_objects, print_table
from virtshape.cli.serverobjects import ServerObjects
from virtshape.cli.vm import explain_vm_error, parse_vm_name
from virtshape.client.actions import expand_sent, expand_stored
from virtshape.engine.gitops import remove_server_fields
from virtshape.offline.expander import Expander
from virtshape.offline.expandfiles import ExpandedVM, expand_entries, expand_entry
from virtshape.offline.files import Entry, Loaded, load
from virtshape.resolve.find import find_object
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.matcher import KINDS
from virtshape.resolve.origins import Origin
from virtshape.resolve.reference import Reference

MAX_VALUE_LENGTH = 60


@click.command(
    "expand",
    cls=Command,
    short_help="Show a VM with its instance type and preference applied.",
    examples=[
        Example("Expand a VM on the server", "virtctl expand --vm web"),
        Example("Expand a file that uses the built-in catalog", "virtctl expand -f vm.yaml"),
        Example("Expand a file with custom instance types", "virtctl expand -f vm.yaml -f instancetypes/"),
        Example("Expand a new VM", "virtctl create vm --instancetype u1.medium | virtctl expand -f -"),
        Example("Expand a file that uses instance types of the server", "virtctl expand -f vm.yaml --from-server"),
        Example("Write a manifest for a Git repository", "virtctl expand --vm web --for gitops > web.yaml"),
        Example("Show the source of each field", "virtctl expand -f vm.yaml --explain"),
        Example(
            "Show the fields set by the instance type",
            "virtctl expand -f vm.yaml --explain -o json | jq '.[] | select(.source == \"instance type\")'",
        ),
    ],
)
@click.option("--vm", metavar="NAME", shell_complete=complete_vm, help="Name of a VM on the server.")
@files_option
@switch(
    "--from-server",
    default=False,
    help="Expand the VMs in files on the server, with its instance types and preferences. "
    "Implied by --kubeconfig, --context and -n.",
)
@click.option(
    "--catalog/--no-catalog",
    default=True,
    show_default=True,
    help="Use the built-in catalog for instance types and preferences that the files do not define.",
)
@switch("--explain", default=False, help="Print the source of each field instead of the VM.")
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["gitops"]),
    help="Print manifests for a Git repository, without fields that servers write. Applying "
    "them again changes nothing.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "table"]),
    help="Output format. [default: yaml; table with --explain]",
)
@connection_options
def command(
    *,
    vm: str | None,
    files: Sequence[str],
    from_server: bool,
    catalog: bool,
    explain: bool,
    purpose: str | None,
    output: str | None,
    target: Target,
) -> None:
    """
    Print VMs with their instance type and preference applied.

    With --vm, the server expands one of its VMs. With --from-server, --kubeconfig, --context or -n, the server expands
    the VMs in the files; it uses only its own instance types and preferences. Otherwise no server is contacted.

    Without a server, the files contain the VMs and the objects that they refer to: instance types, preferences,
    ControllerRevisions, and the PVCs, DataVolumes, DataSources and snapshots to infer from. The configuration in a
    KubeVirt object is used too. Objects in files take precedence over the catalog.
    """
    for_gitops = purpose == "gitops"
    validate_flags(vm, files, from_server=from_server, table=output == "table" and not explain)
    if for_gitops and explain:
        raise click.UsageError("--for cannot be used with --explain", click.get_current_context())
    expanded: Sequence[ExpandedVM]
    if vm is not None:
        expanded = [run_session(target, lambda session: expand_stored_vm(session, vm, explain=explain))]
        if for_gitops:
            expanded = [each._replace(tree=remove_server_fields(each.tree)) for each in expanded]
    elif from_server or any(target):
        expanded = expand_files_on_server(target, files, explain=explain, for_gitops=for_gitops)
    else:
        expanded = expand_files(files, catalog=catalog, explain=explain, for_gitops=for_gitops)
    for text in [text for each in expanded for text in each.warnings]:
        warn(text)
    if explain:
        print_origins(expanded, output or "table")
    else:
        print_vms(expanded, output or "yaml")


def validate_flags(vm: str | None, files: Sequence[str], *, from_server: bool, table: bool) -> None:
    """Raise UsageError for flags that are missing or cannot be combined."""
    ctx = click.get_current_context()
    if vm is None and not files:
        raise click.UsageError("nothing to expand: use --vm for a VM on the server, or -f for files", ctx)
    if vm is not None and (files or from_server):
        other = "-f" if files else "--from-server, which is for files"
        raise click.UsageError(f"--vm cannot be used with {other}", ctx)
    if table:
        raise click.UsageError("-o table requires --explain", ctx)


def expand_files(files: Sequence[str], *, catalog: bool, explain: bool, for_gitops: bool) -> Sequence[ExpandedVM]:
    """Expand the VMs in files with the objects in the files and, if `catalog` is set, in the built-in catalog."""
    loaded = load(files)
    loaded.raise_problems()
    require_vm(loaded)
    expansion = expand_entries(loaded.entries, catalog=catalog, explain=explain, for_gitops=for_gitops)
    for text in expansion.warnings:
        warn(text)
    return expansion.vms


def expand_files_on_server(
    target: Target, files: Sequence[str], *, explain: bool, for_gitops: bool
) -> Sequence[ExpandedVM]:
    """Expand the VMs in files on the server; other objects are ignored."""
    loaded = load(files)
    loaded.raise_problems()
    require_vm(loaded)
    vms = [entry for entry in loaded.entries if isinstance(entry.object, VirtualMachine)]
    others = len(loaded.entries) + len(loaded.skipped) - len(vms)
    if others:
        warn(f"{others} objects in the files are not VMs and are ignored: the server uses its own objects")
    return run_session(
        target, lambda session: expand_entries_on_server(session, vms, explain=explain, for_gitops=for_gitops)
    )


def require_vm(loaded: Loaded) -> None:
    """Raise CommandError, with the kinds in the files, if they contain no VM."""
    if any(isinstance(entry.object, VirtualMachine) for entry in loaded.entries):
        return
    trees = [entry.document.tree for entry in loaded.entries] + [document.tree for document in loaded.skipped]
    kinds = [str(tree.get("kind") or "object without a kind") for tree in trees if isinstance(tree, dict)]
    content = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "no objects"
    raise CommandError(f"no VirtualMachine in the files: they contain {content}")


def print_vms(vms: Sequence[ExpandedVM], output: str) -> None:
    """Print one or several VMs."""
    trees = [vm.tree for vm in vms]
    if len(trees) == 1:
        print_object(trees[0], output)
    else:
        print_objects(trees, output)


def print_origins(vms: Sequence[ExpandedVM], output: str) -> None:
    """Print the source of each field, with the VM's name if there are several VMs."""
    origins = [(vm.name if len(vms) > 1 else None, origin) for vm in vms for origin in vm.origins]
    if output == "table":
        rows = [[vm or "", each.field, show_value(each.value), each.description] for vm, each in origins]
        first = 0 if len(vms) > 1 else 1
        print_table(["VM", "FIELD", "VALUE", "SOURCE"][first:], [row[first:] for row in rows])
    else:
        print_object([describe_origin(each, vm) for vm, each in origins], output)


def describe_origin(origin: Origin, vm: str | None) -> JsonObject:
    """Return an origin as a JSON object, without the VM and the revision if they are None."""
    tree = {"vm": vm, **origin._asdict()}
    return {key: value for key, value in tree.items() if value is not None or key not in ("vm", "revision")}


def show_value(value: object) -> str:
    """Return a value as one short line."""
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 1]}…"


async def expand_stored_vm(session: Session, text: str, *, explain: bool) -> ExpandedVM:
    """Expand a VM stored on the server."""
    name = parse_vm_name(text)
    try:
        if explain:
            vm = await session.client.get(VirtualMachine, name, session.namespace)
            return await explain_locally(session, vm)
        tree = await expand_stored(session.client, session.namespace, name)
    except StatusError as error:
        raise await explain_vm_error(session, name, "expand", error) from error
    return ExpandedVM(name, remove_managed_fields(tree), [], [])


async def expand_entries_on_server(
    session: Session, entries: Sequence[Entry], *, explain: bool, for_gitops: bool
) -> list[ExpandedVM]:
    """Expand VMs from files on the server; a VM without a namespace is expanded in the session's namespace."""
    expanded = []
    for entry in entries:
        vm: VirtualMachine = entry.object
        namespace = vm.metadata.namespace or session.namespace
        name = vm.metadata.name or entry.place
        if explain:
            expanded.append(await explain_locally(session, vm))
        elif for_gitops:
            vm.metadata = replace(vm.metadata, namespace=namespace)
            expanded.append(expand_entry(entry, await get_expander(session, vm), for_gitops=True))
        else:
            tree = await expand_sent(session.client, namespace, entry.document.tree)
            expanded.append(ExpandedVM(name, remove_managed_fields(tree), [], []))
    return expanded


async def explain_locally(session: Session, vm: VirtualMachine) -> ExpandedVM:
    """Expand a VM locally, with objects from the server, and return it with the source of each field."""
    expander = await get_expander(session, vm)
    origins, warnings = expander.explain_in_place(vm)
    name = vm.metadata.name or ""
    return ExpandedVM(name, remove_managed_fields(to_tree(vm)), origins, warnings)


async def get_expander(session: Session, vm: VirtualMachine) -> Expander:
    """Return an Expander with the configuration of the server and all objects that the VM refers to."""
    found = await fetch_references(ServerObjects(session), vm)
    return Expander(found, configuration=await find_configuration(session))


async def fetch_references(cluster: ServerObjects, vm: VirtualMachine) -> list[Model]:
    """Return all objects that the VM refers to, directly or indirectly."""
    known: dict[Reference, Model | None] = {}
    while True:
        missing: list[Reference] = []

        def look(reference: Reference, missing: list[Reference] = missing) -> Model | None:
            if reference not in known:
                missing.append(reference)
            return known.get(reference)

        trial = duplicate(vm)
        with suppress(StatusError):  # the expansion reports the error after all objects are fetched
            infer_matchers(trial, look)
        for role in KINDS:
            with suppress(StatusError):
                find_object(trial, role, look)
        if not missing:
            return [model for model in known.values() if model is not None]
        for reference in missing:
            known[reference] = await cluster.fetch(reference)


async def find_configuration(session: Session) -> Any:
    """Return the KubeVirt configuration, or None if it does not exist or the user may not read it."""
    try:
        installed = await session.client.get(KubeVirt, KUBEVIRT, KUBEVIRT)
    except StatusError as error:
        if error.code not in (403, 404):
            raise
        return None
    return installed.spec.configuration


def remove_managed_fields(tree: Any) -> Any:
    """Remove managedFields from the object, as kubectl does, and return it."""
    (tree.get("metadata") or {}).pop("managedFields", None)
    return tree
