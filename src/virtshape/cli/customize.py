"""
`virtctl customize`: print a new instance type or preference, based on one from a server, a file or the catalog.

The server is never changed, and is read only if neither -f nor --catalog is given.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from virtshape import catalog as builtin
from virtshape.admission.checkresult import CheckResult
from virtshape.admission.instancetype import check_instancetype, check_preference
from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import restore
from virtshape.cli.command import Command, Example, files_option, switch
from virtshape.cli.connection import Session, Target, connection_options, current_target, run_session
from virtshape.cli.create.parameters import ParameterError, read_quantity, split_name
from virtshape.cli.create.preferenceflags import choose, preference_options
from virtshape.cli.create.problems import Problems
from virtshape.cli.errors import NEXT_STEPS, CommandError, suggest, warn
from virtshape.cli.localserver import NoServerError
from virtshape.cli.output import output_option, print_object
from virtshape.cli.paramtypes import TopologyType, Vcpus
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.engine.customize import (
    GROUP,
    OPEN,
    Instancetype,
    Open,
    Preference,
    Size,
    check_changes,
    check_size,
    customize,
    find_topology,
    scale_topology,
)
from virtshape.engine.preferencechanges import PreferenceChanges
from virtshape.engine.topology import TOPOLOGIES
from virtshape.offline.files import Entry, load
from virtshape.offline.problems import locate
from virtshape.offline.sources import CLUSTER_KINDS, KINDS_BY_NAME, Found, get_source, is_source

MAX_NAME_LENGTH = 253
SIZE_LABELS = tuple(f"{GROUP}/{label}" for label in ("cpu", "memory", "size"))

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def complete_source(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of instance types and preferences."""
    return complete_kinds(ctx, CLUSTER_KINDS, incomplete)


def complete_kinds(ctx: click.Context, kinds: Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Complete names from the server or, if no server answers, from the catalog."""

    async def find(session: Session) -> list[str]:
        return await ServerObjects(session).list_names(kinds)

    try:
        names = run_session(current_target(ctx), find, call_seconds=2.0)
    except (CommandError, StatusError):
        names = [name for kind in kinds for name in builtin.names(kind)]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command(
    "customize",
    cls=Command,
    short_help="Create an instance type or preference from an existing one.",
    examples=[
        Example(
            "Create a custom size in the current namespace",
            "virtctl customize u1.medium --name u1.mysize --vcpus 4 --memory 4Gi | kubectl apply -f -",
        ),
        Example(
            "Create a cluster-wide instance type with an exact topology",
            "virtctl customize cx1.large --name cx1.wide --topology sockets=2,cores=2,threads=2 --cluster",
        ),
        Example(
            "Leave the size to each VM, which sets it in its own spec",
            "virtctl customize cx1.medium --name cx1.flexible --vcpus open --memory open",
        ),
        Example(
            "Change the firmware and the disk bus of a preference",
            "virtctl customize fedora --name fedora-secure --firmware secure-boot --disk-bus scsi",
        ),
        Example(
            "Copy a preference to a file for editing", "virtctl customize fedora --name fedora-ours > preference.yaml"
        ),
        Example(
            "Start from the built-in catalog instead of the server", "virtctl customize u1.medium --catalog --name mine"
        ),
        Example(
            "Start from a namespaced instance type in a file",
            "virtctl customize vminstancetype/small -f types.yaml --name large --memory 16Gi",
        ),
    ],
)
@click.argument("source", metavar="[KIND/]NAME", shell_complete=complete_source)
@files_option
@switch(
    "--catalog",
    default=False,
    help="Look up the source in the built-in catalog if it is not in the files, instead of on the server.",
)
@click.option("--name", required=True, help="Name of the new object.")
@click.option(
    "--vcpus",
    type=Vcpus(),
    metavar="NUMBER|open",
    help="vCPUs of the new instance type, or `open` to leave them to each VM.",
)
@click.option("--topology", type=TopologyType(), help="Exact CPU topology, instead of --vcpus.")
@click.option(
    "--memory",
    metavar="QUANTITY|open",
    help="Memory of the new instance type, such as 4Gi, or `open` to leave it to each VM.",
)
@preference_options
@click.option("--machine-type", help="Preferred machine type, such as q35.")
@choose("--cpu-topology", TOPOLOGIES, "Preferred CPU topology.")
@click.option("--volume-storage-class", help="Preferred storage class for volumes that do not set one.")
@switch("--cluster", default=False, help="Print the cluster-wide kind instead of the namespaced one.")
@switch("--keep-metadata", default=False, help=f"Keep the labels and annotations of {GROUP}.")
@output_option
@partial(connection_options, without=("cluster",))
def command(
    *,
    source: str,
    files: Sequence[str],
    catalog: bool,
    name: str,
    vcpus: int | Open | None,
    topology: CPUTopology | None,
    memory: str | None,
    cluster: bool,
    keep_metadata: bool,
    output: str,
    target: Target,
    volume_storage_class: str | None,
    **preferences: str | None,
) -> None:
    """
    Print a new instance type or preference, based on an existing one.

    The source is read from the server, unless -f or --catalog is given. Without a server the built-in catalog is used.

    NAME is a cluster-wide object unless KIND is given, in any spelling that kubectl accepts. The result is namespaced
    unless --cluster is given. The result has the labels and annotations of the source, except those that describe the
    source, and the API version of the source, or v1beta2 if the result has no vCPUs or memory. A size that the source
    leaves open must be within its limits. The limits of a size that stays open are kept.

    --vcpus, --topology and --memory change instance types. The flags from --disk-bus to --volume-storage-class change
    preferences; an empty value, as in --disk-bus "", removes the preference.
    """
    problems = Problems()
    kinds, source_name = read_source(source, problems)
    size = Size(vcpus, topology, read_memory(memory, problems))
    check_name(name, problems)
    if vcpus is not None and topology is not None:
        problems.lines.append("--vcpus and --topology are mutually exclusive")
    problems.raise_all()
    if files or catalog:
        loaded = load(files, is_source)
        loaded.raise_problems()
        found = get_source(source_name, kinds, loaded.entries, with_catalog=catalog)
    else:
        found = get_from_server(target, source_name, kinds)
    changes = PreferenceChanges(storage_class=volume_storage_class, **preferences)
    validate_size_flags(found.object, size)
    validate_preference_flags(found.object, changes)
    result = customize(found.object, name, size, changes, cluster=cluster, keep_metadata=keep_metadata)
    validate_result(result)
    if size.is_given:
        warn_of_stale_labels(result)
    print_object(restore_unknown(to_tree(result), found.entry), output)


def get_from_server(target: Target, name: str, kinds: Sequence[str]) -> Found:
    """Return the object from the server or, if no server is configured, from the catalog."""

    async def find(session: Session) -> Sequence[Entry]:
        return await ServerObjects(session).find_sources(name, kinds)

    try:
        entries = run_session(target, find, instead="--catalog uses the built-in catalog instead.")
    except NoServerError:
        return get_source(name, kinds, (), with_catalog=True)
    return get_source(name, kinds, entries, with_catalog=False, elsewhere=PLACE)


def read_source(text: str, problems: Problems) -> tuple[Sequence[str], str]:
    """Parse [KIND/]NAME; return the possible kinds and the name."""
    kinds: Sequence[str] = CLUSTER_KINDS
    name = ""
    with problems.collect("[KIND/]NAME"):
        kind, name = split_name(text)
        if kind:
            kinds = (parse_kind(kind),)
    return kinds, name


def parse_kind(text: str) -> str:
    """Return the kind for any spelling that kubectl accepts."""
    kind = KINDS_BY_NAME.get(text.lower().removesuffix(f".{GROUP}"))
    if kind is None:
        hint = suggest(text.lower(), KINDS_BY_NAME) or f"; must be one of {', '.join(KINDS_BY_NAME)}"
        raise ParameterError(f'unknown kind "{text}"{hint}')
    return kind


def read_memory(text: str | None, problems: Problems) -> Quantity | Open | None:
    """Parse the value of --memory, if given."""
    if text == OPEN:
        return OPEN
    amount = None
    with problems.collect("--memory"):
        amount = read_quantity(text) if text is not None else None
        if amount is not None and amount.amount <= 0:
            raise ParameterError(f'invalid amount "{text}": must be greater than 0, such as 4Gi')
    return amount


def check_name(name: str, problems: Problems) -> None:
    """Report a name that is not a valid DNS subdomain."""
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        problems.lines.append(
            f'--name: invalid name "{name}": must be up to {MAX_NAME_LENGTH} lower case letters, digits, dashes and '
            "dots, with a letter or digit at both ends of each part"
        )


def validate_size_flags(source: Instancetype | Preference, size: Size) -> None:
    """Raise CommandError with a next step if the size flags cannot be applied to the source."""
    conflicts = check_size(source, size)
    if not conflicts:
        return
    step = "Remove the size flags, or choose an instance type."
    if any(conflict.rule for conflict in conflicts):
        step = "Use one of these values, or choose another instance type."
    topology = None if isinstance(source, Preference) else find_topology(source)
    if topology is not None and isinstance(size.vcpus, int):
        like = scale_topology(topology, size.vcpus)
        suggested = f"sockets={like.sockets},cores={like.cores},threads={like.threads}"
        step = f"Use --topology, such as --topology {suggested}, or choose an instance type without a topology."
    name = source.metadata.name
    raise CommandError(f"{name}: {'; '.join(conflict.message for conflict in conflicts)}", next_step=step)


def validate_preference_flags(source: Instancetype | Preference, changes: PreferenceChanges) -> None:
    """Raise CommandError with a next step if the preference flags cannot be applied to the source."""
    if conflicts := check_changes(source, changes):
        step = "Remove the preference flags, or choose a preference."
        raise CommandError(f"{source.metadata.name}: {conflicts[0].message}", next_step=step)


def validate_result(result: Instancetype | Preference) -> None:
    """Raise CommandError if the new object is invalid; otherwise print admission warnings."""
    check: CheckResult
    if isinstance(result, Preference):
        check = check_preference(result.spec)
    else:
        check = check_instancetype(result.spec, result.api_version.rpartition("/")[2])
    if check.causes:
        lines = [cause.message for cause in check.causes]
        raise CommandError("the result is invalid", lines, NEXT_STEPS["Invalid"])
    for text in check.warnings:
        warn(text)


def warn_of_stale_labels(result: Instancetype | Preference) -> None:
    """Warn about labels that still describe the size of the source."""
    labels = result.metadata.labels or {}
    stale = [f"{label}={labels[label]}" for label in SIZE_LABELS if label in labels]
    if stale:
        warn(f"--keep-metadata keeps {', '.join(stale)}, which describes the size of the source")


def restore_unknown(tree: Any, entry: Entry | None) -> Any:
    """Restore unknown fields of the source's spec, and warn about them."""
    if entry is None:
        return tree
    unknown = tuple(field for field in entry.unknown if field.at[0] == "spec")
    for field in unknown:
        warn(f"{locate(entry.document, field.problem)}; it is kept unchanged")
    return restore(tree, unknown)
