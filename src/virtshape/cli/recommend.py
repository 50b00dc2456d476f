"""`virtctl recommend`: find the smallest matching instance types on a server, in files or in the built-in catalog."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from virtshape import catalog as builtin
from virtshape.admission.recommend import Miss, Need, Offer, recommend
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.model import JsonObject
from virtshape.api.quantity import Quantity
from virtshape.cli.cluster import PLACE, Cluster
from virtshape.cli.command import Command, Example, Integer, files_option, output_choice, switch
from virtshape.cli.connection import NoServerError, Session, Target, connection_options, run_session
from virtshape.cli.create.parameters import ParameterError
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_kinds, parse_kind
from virtshape.cli.errors import CommandError
from virtshape.cli.expand import find_configuration
from virtshape.cli.output import print_object, print_table
from virtshape.cli.paramtypes import Size
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE, default_architecture
from virtshape.offline.files import Entry, load
from virtshape.offline.sources import get_source, is_source
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, KINDS

MAX_SHOWN = 5
MAX_EXPLAINED = 3
MAX_VCPUS = 2**32 - 1
INSTANCETYPES = (KINDS["instancetype"].cluster, KINDS["instancetype"].namespaced)
PREFERENCES = (KINDS["preference"].cluster, KINDS["preference"].namespaced)


class Candidates(NamedTuple):
    """The objects to search, where they come from, and the default architecture of VMs."""

    place: str
    entries: Sequence[Entry]
    with_catalog: bool
    architecture: str = DEFAULT_ARCHITECTURE

    def list_offers(self) -> list[Offer]:
        """Return all instance types; files take precedence over the catalog."""
        objects = [entry.object for entry in self.entries]
        if self.with_catalog:
            objects += builtin.load()
        offers: dict[tuple[str, str], Offer] = {}
        for each in objects:
            spec = instancetype_spec(each)
            name = each.metadata.name or ""
            if spec is not None:
                offers.setdefault((each.kind, name), Offer(each.kind, name, spec))
        return list(offers.values())

    def find_preference(self, name: str, kind: str) -> VirtualMachinePreferenceSpec | None:
        """Return the spec of a preference; raise StatusError if it does not exist."""
        elsewhere = PLACE if self.place == PLACE else ""
        found = get_source(name, (kind,), self.entries, with_catalog=self.with_catalog, elsewhere=elsewhere)
        return preference_spec(found.object)


def complete_preference(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of cluster-wide preferences."""
    return complete_kinds(ctx, PREFERENCES[:1], incomplete)


@click.command(
    "recommend",
    cls=Command,
    short_help="Find the smallest matching instance type.",
    examples=[
        Example("Require at least 4 vCPUs and 8Gi of memory", "virtctl recommend --cpu-min 4 --memory-min 8Gi"),
        Example(
            "Meet the requirements of Windows, without dedicated CPUs",
            "virtctl recommend --preference windows.11 --no-dedicated",
        ),
        Example(
            "Use the smallest match in a new VM",
            "virtctl create vm --instancetype $(virtctl recommend --cpu-min 2 -o json | jq -r '.[0].name')",
        ),
        Example("List all with hugepages in the built-in catalog", "virtctl recommend --hugepages --catalog --all"),
        Example("Search files", "virtctl recommend -f instancetypes/ --memory-max 16Gi"),
    ],
)
@click.option("--cpu-min", type=Integer(1, MAX_VCPUS), help="Minimum number of vCPUs.")
@click.option("--cpu-max", type=Integer(1, MAX_VCPUS), help="Maximum number of vCPUs.")
@click.option("--memory-min", metavar="QUANTITY", type=Size(), help="Minimum memory, such as 4Gi.")
@click.option("--memory-max", metavar="QUANTITY", type=Size(), help="Maximum memory.")
@click.option(
    "--preference",
    metavar="NAME",
    shell_complete=complete_preference,
    help="Preference whose requirements must be met.",
)
@click.option(
    "--preference-kind",
    metavar="KIND",
    help="Kind of the preference, in any spelling that kubectl accepts. [default: the cluster-wide kind]",
)
@click.option("--dedicated/--no-dedicated", default=None, help="Require or exclude dedicated CPUs. [default: either]")
@switch("--hugepages", default=None, help="Require hugepages, or exclude them with =false. [default: either]")
@click.option("--gpus", type=Integer(0, MAX_VCPUS), default=0, help="Minimum number of GPUs.")
@switch("--all", "show_all", default=False, help=f"Show all matches instead of the first {MAX_SHOWN}.")
@files_option
@switch("--catalog", default=False, help="Search the built-in catalog, in addition to any files.")
@output_choice("table", "json", "yaml", "name", help="Output format.")
@connection_options
def command(
    *,
    cpu_min: int | None,
    cpu_max: int | None,
    memory_min: Quantity | None,
    memory_max: Quantity | None,
    preference: str | None,
    preference_kind: str | None,
    dedicated: bool | None,
    hugepages: bool | None,
    gpus: int,
    show_all: bool,
    files: Sequence[str],
    catalog: bool,
    output: str,
    target: Target,
) -> None:
    """
    Print the smallest instance types that match: fewest vCPUs first, then least memory, then fewest special features.

    Searches the cluster-wide and namespaced instance types of the server, unless -f or --catalog is given. Without a
    server the built-in catalog is searched. Instance types without vCPUs or memory, such as the `custom` sizes, are
    ignored.

    Exit status: 0 success, 1 if none matches; the closest ones are listed with the reasons.
    """
    need = Need(cpu_min, cpu_max, memory_min, memory_max, dedicated, hugepages, gpus)
    kind = validate_flags(need, preference, preference_kind)
    candidates = get_candidates(target, files, with_preferences=preference is not None, catalog=catalog)
    if preference is not None:
        asked = candidates.find_preference(preference, kind)
        need = need._replace(preference=asked, architecture=candidates.architecture)
    fitting, missing = recommend(candidates.list_offers(), need)
    if not fitting:
        raise explain_no_match(missing, candidates.place)
    shown = fitting if show_all else fitting[:MAX_SHOWN]
    print_offers(shown, output)
    if len(shown) < len(fitting):
        click.echo(f"{len(fitting) - len(shown)} more match; --all shows them", err=True)


def validate_flags(need: Need, preference: str | None, preference_kind: str | None) -> str:
    """Check the flags and return the kind of the preference."""
    problems, kind = Problems(), PREFERENCES[0]
    if need.cpu_min is not None and need.cpu_max is not None and need.cpu_min > need.cpu_max:
        problems.lines.append(f"--cpu-min {need.cpu_min} is greater than --cpu-max {need.cpu_max}")
    if need.memory_min is not None and need.memory_max is not None and need.memory_min.amount > need.memory_max.amount:
        problems.lines.append(f"--memory-min {need.memory_min} is greater than --memory-max {need.memory_max}")
    if preference_kind is not None:
        with problems.collect("--preference-kind"):
            kind = parse_kind(preference_kind)
            if kind not in PREFERENCES:
                raise ParameterError(f"{kind} is not a preference: must be {' or '.join(PREFERENCES)}")
        if preference is None:
            problems.lines.append("--preference-kind requires --preference")
    problems.raise_all()
    return kind


def get_candidates(target: Target, files: Sequence[str], *, with_preferences: bool, catalog: bool) -> Candidates:
    """Read the instance types and preferences from files, the catalog or the server."""
    if files or catalog:
        loaded = load(files, is_source)
        loaded.raise_problems()
        entries = [entry for entry in loaded.entries if matches_namespace(entry, target.namespace)]
        places = [*(["the files"] if files else []), *(["the built-in catalog"] if catalog else [])]
        return Candidates(" or ".join(places), entries, with_catalog=catalog)

    async def read(session: Session) -> Candidates:
        kinds = INSTANCETYPES + PREFERENCES if with_preferences else INSTANCETYPES
        entries = await Cluster(session).list_sources(kinds)
        configuration = await find_configuration(session) if with_preferences else None
        return Candidates(PLACE, entries, False, default_architecture(configuration))

    try:
        return run_session(target, read, instead="--catalog uses the built-in catalog instead.")
    except NoServerError:
        return Candidates("the built-in catalog", (), with_catalog=True)


def matches_namespace(entry: Entry, namespace: str) -> bool:
    """Return True if the object is in this namespace or has none, or if no namespace is given."""
    stated = entry.object.metadata.namespace
    return not namespace or not stated or stated == namespace


def explain_no_match(missing: Sequence[Miss], place: str) -> CommandError:
    """Return the error that lists the closest instance types."""
    if not missing:
        step = "Search elsewhere with --catalog, -f, -n or --context."
        return CommandError(f"no instance types with a size in {place}", next_step=step)
    causes = [f"{miss.offer.name}: {'; '.join(miss.reasons)}" for miss in missing[:MAX_EXPLAINED]]
    step = "Relax the requirements, or create one with `virtctl create instancetype`."
    return CommandError(f"no instance type in {place} matches; the closest are", causes, step)


def print_offers(offers: Sequence[Offer], output: str) -> None:
    """Print instance types in the output format."""
    if output == "table":
        print_table(["NAME", "VCPU", "MEMORY", "DEDICATED", "KIND"], map(describe_row, offers))
    elif output == "name":
        print_names(offers)
    else:
        print_object([describe_offer(offer) for offer in offers], output)


def print_names(offers: Iterable[Offer]) -> None:
    """Print instance types in the format of kubectl -o name."""
    for offer in offers:
        click.echo(f"{offer.kind.lower()}.{INSTANCETYPE_GROUP}/{offer.name}")


def describe_row(offer: Offer) -> list[object]:
    """Return the table row of an instance type."""
    return [offer.name, offer.vcpus, offer.memory, str(offer.is_dedicated).lower(), offer.kind]


def describe_offer(offer: Offer) -> JsonObject:
    """Return an instance type as a JSON object."""
    return {
        "kind": offer.kind,
        "name": offer.name,
        "vcpus": offer.vcpus,
        "memory": str(offer.memory),
        "dedicated": offer.is_dedicated,
        "hugepages": offer.hugepages,
        "gpus": offer.gpus,
    }
