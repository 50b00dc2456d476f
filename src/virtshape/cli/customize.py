"""
`virtctl customize`: a new instance type or preference, made from one of a server, a file or the built-in catalogue.

Prints a manifest and sends it nowhere. A server is asked only for the source, and not if that stands elsewhere.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from virtshape import catalog as builtin
from virtshape.admission.instancetype import check_instancetype, check_preference
from virtshape.admission.violation import CheckResult
from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.domain import CPUTopology
from virtshape.api.quantity import Quantity
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import restore
from virtshape.cli.cluster import PLACE, Cluster
from virtshape.cli.command import Command, Example, WholeNumber, switch
from virtshape.cli.connection import NoServer, Session, Target, connection_options, current_target, run_session
from virtshape.cli.create.parameters import ParameterError, read_quantity, split_name
from virtshape.cli.create.problems import Problems
from virtshape.cli.errors import NEXT_STEPS, Refusal, suggest, warn
from virtshape.cli.files import files_option
from virtshape.cli.output import output_option, print_object
from virtshape.cli.topology import TopologyType
from virtshape.engine.customize import (
    GROUP,
    Instancetype,
    Preference,
    Size,
    check_size,
    customize,
    find_topology,
    scale_topology,
)
from virtshape.offline.files import Entry, load
from virtshape.offline.mistakes import locate
from virtshape.offline.sources import CLUSTER_KINDS, KINDS_BY_NAME, Found, find_source, is_source

LONGEST_NAME = 253
SIZE_LABELS = tuple(f"{GROUP}/{label}" for label in ("cpu", "memory", "size"))

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def complete_source(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Offer the instance types and preferences that begin so."""
    return complete_kinds(ctx, CLUSTER_KINDS, incomplete)


def complete_kinds(ctx: click.Context, kinds: Sequence[str], incomplete: str) -> list[CompletionItem]:
    """Offer the names that begin so, of the server or, where none answers, of the catalogue."""

    async def find(session: Session) -> list[str]:
        return await Cluster(session).list_names(kinds)

    try:
        names = run_session(current_target(ctx), find, call_seconds=2.0)
    except (Refusal, StatusError):
        names = [name for kind in kinds for name in builtin.names(kind)]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command(
    "customize",
    cls=Command,
    short_help="Make a new instance type or preference from an existing one.",
    examples=[
        Example(
            "A size of one's own, for one namespace",
            "virtctl customize u1.medium --name u1.mysize --vcpus 4 --memory 4Gi | kubectl apply -f -",
        ),
        Example(
            "For the whole cluster, with an exact topology",
            "virtctl customize cx1.large --name cx1.wide --topology sockets=2,cores=2,threads=2 --cluster",
        ),
        Example("A preference, to be edited", "virtctl customize fedora --name fedora-ours > preference.yaml"),
        Example(
            "From the built-in catalogue, whatever the server has", "virtctl customize u1.medium --catalog --name mine"
        ),
        Example(
            "From an instance type of a namespace, in a file",
            "virtctl customize vminstancetype/small -f types.yaml --name large --memory 16Gi",
        ),
    ],
)
@click.argument("source", metavar="[KIND/]NAME", shell_complete=complete_source)
@files_option
@switch("--catalog", default=False, help="Look in the built-in catalogue, after the files if there are any.")
@click.option("--name", required=True, help="The name of the new object.")
@click.option("--vcpus", type=WholeNumber(1, 2**32 - 1), help="vCPUs of the new instance type; --topology says more.")
@click.option("--topology", type=TopologyType(), help="The exact topology of its vCPUs, in place of --vcpus.")
@click.option("--memory", metavar="QUANTITY", help="Memory of the new instance type, such as 4Gi.")
@switch("--cluster", default=False, help="Print the cluster-wide kind, in place of the one for a namespace.")
@switch("--keep-metadata", default=False, help=f"Keep the labels and annotations of {GROUP}.")
@output_option
@partial(connection_options, without=("cluster",))
def command(
    *,
    source: str,
    files: Sequence[str],
    catalog: bool,
    name: str,
    vcpus: int | None,
    topology: CPUTopology | None,
    memory: str | None,
    cluster: bool,
    keep_metadata: bool,
    output: str,
    target: Target,
) -> None:
    """
    Print a new instance type or preference, made from an existing one.

    The server is asked for it, unless -f or --catalog says where it stands; where no server is known, it is looked
    for in the built-in catalogue.

    NAME is a cluster-wide one unless KIND says otherwise, in any spelling that kubectl takes. What is printed is for
    a namespace, unless --cluster is given, and has the source's labels and annotations, except for those that
    describe the source, and its version, or v1beta2 if it leaves vCPUs or memory to the VM.
    """
    problems = Problems()
    kinds, source_name = read_source(source, problems)
    size = Size(vcpus, topology, read_memory(memory, problems))
    check_name(name, problems)
    if vcpus is not None and topology is not None:
        problems.lines.append("--vcpus and --topology exclude each other; give one of them")
    problems.refuse()
    if files or catalog:
        loaded = load(files, is_source)
        loaded.raise_problems()
        found = find_source(source_name, kinds, loaded.entries, with_catalog=catalog)
    else:
        found = find_on_server(target, source_name, kinds)
    refuse_size(found.object, size)
    result = customize(found.object, name, size, cluster=cluster, keep_metadata=keep_metadata)
    judge(result)
    if size.is_given:
        warn_of_stale_labels(result)
    print_object(restore_unknown(to_tree(result), found.entry), output)


def find_on_server(target: Target, name: str, kinds: Sequence[str]) -> Found:
    """The one object of these kinds with this name that the server has; without a server, that of the catalogue."""

    async def find(session: Session) -> Sequence[Entry]:
        return await Cluster(session).find_sources(name, kinds)

    try:
        entries = run_session(target, find, instead="--catalog looks in the built-in catalogue.")
    except NoServer:
        return find_source(name, kinds, (), with_catalog=True)
    return find_source(name, kinds, entries, with_catalog=False, elsewhere=PLACE)


def read_source(text: str, problems: Problems) -> tuple[Sequence[str], str]:
    """Read the kinds that may be meant, and the name."""
    kinds: Sequence[str] = CLUSTER_KINDS
    name = ""
    with problems.of("[KIND/]NAME"):
        word, name = split_name(text)
        if word:
            kinds = (read_kind(word),)
    return kinds, name


def read_kind(word: str) -> str:
    """Read a kind in any spelling that kubectl takes."""
    kind = KINDS_BY_NAME.get(word.lower().removesuffix(f".{GROUP}"))
    if kind is None:
        hint = suggest(word.lower(), KINDS_BY_NAME) or f"; known are {', '.join(KINDS_BY_NAME)}"
        raise ParameterError(f'unknown kind "{word}"{hint}')
    return kind


def read_memory(text: str | None, problems: Problems) -> Quantity | None:
    """Read how much memory is asked for, if any."""
    amount = None
    with problems.of("--memory"):
        amount = read_quantity(text) if text is not None else None
        if amount is not None and amount.amount <= 0:
            raise ParameterError(f"{text} is no amount of memory; give one above 0, such as 4Gi")
    return amount


def check_name(name: str, problems: Problems) -> None:
    """Note a name that no server takes."""
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        problems.lines.append(
            f'--name: "{name}" cannot name an object: up to {LONGEST_NAME} small letters, digits, dashes and dots, '
            "with a letter or digit at both ends of each part"
        )


def refuse_size(source: Instancetype | Preference, size: Size) -> None:
    """Refuse a size that the source cannot be given, and say what can be done."""
    conflicts = check_size(source, size)
    if not conflicts:
        return
    step = "Leave out the size, or name an instance type."
    topology = None if isinstance(source, Preference) else find_topology(source)
    if topology is not None and size.vcpus is not None:
        like = scale_topology(topology, size.vcpus)
        words = f"sockets={like.sockets},cores={like.cores},threads={like.threads}"
        step = f"Say it with --topology, such as --topology {words}, or take an instance type without a topology."
    name = source.metadata.name if source.metadata else None
    raise Refusal(f"{name}: {'; '.join(conflict.message for conflict in conflicts)}", next_step=step)


def judge(result: Instancetype | Preference) -> None:
    """Refuse an object that no server would take, and warn of what it would warn of."""
    verdict: CheckResult
    if isinstance(result, Preference):
        verdict = check_preference(result.spec)
    else:
        verdict = check_instancetype(result.spec, result.api_version.rpartition("/")[2])
    if verdict.causes:
        lines = [cause.message for cause in verdict.causes]
        raise Refusal("no server would take the result", lines, NEXT_STEPS["Invalid"])
    for text in verdict.warnings:
        warn(text)


def warn_of_stale_labels(result: Instancetype | Preference) -> None:
    """Tell which of the labels that were kept describe the source's size."""
    labels = (result.metadata.labels if result.metadata else None) or {}
    stale = [f"{label}={labels[label]}" for label in SIZE_LABELS if label in labels]
    if stale:
        warn(f"--keep-metadata keeps {', '.join(stale)}, the size of the source")


def restore_unknown(tree: Any, entry: Entry | None) -> Any:
    """Put back the fields of the source's spec that we do not know, and warn of them."""
    if entry is None:
        return tree
    unknown = tuple(field for field in entry.unknown if field.at[0] == "spec")
    for field in unknown:
        warn(f"{locate(entry.document, *field.problem)}; it is passed on as it stands")
    return restore(tree, unknown)
