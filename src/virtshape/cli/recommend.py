"""
`virtctl recommend`: the smallest instance types of a server, of files or of the built-in catalogue for a need.

Only reads. A server is asked unless the instance types stand elsewhere.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from virtshape import catalog as builtin
from virtshape.admission.recommend import Miss, Need, Offer, recommend
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.api.quantity import Quantity
from virtshape.cli.cluster import PLACE, Cluster
from virtshape.cli.command import Command, Example, WholeNumber, output_choice, switch
from virtshape.cli.connection import NoServer, Session, Target, connection_options, run_session
from virtshape.cli.create.parameters import ParameterError
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_kinds, read_kind
from virtshape.cli.errors import Refusal
from virtshape.cli.expanding import find_configuration
from virtshape.cli.files import files_option
from virtshape.cli.output import print_object, print_table
from virtshape.cli.size import Size
from virtshape.engine.machine import DEFAULT_ARCHITECTURE, default_architecture
from virtshape.offline.files import Entry, load
from virtshape.offline.sources import find_source, is_source
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, KINDS

MOST_SHOWN = 5
MOST_EXPLAINED = 3
MOST_VCPUS = 2**32 - 1
INSTANCETYPES = (KINDS["instancetype"].cluster, KINDS["instancetype"].namespaced)
PREFERENCES = (KINDS["preference"].cluster, KINDS["preference"].namespaced)


class Surroundings(NamedTuple):
    """Where instance types are looked for, what is there, and which architecture VMs have that name none."""

    place: str
    entries: Sequence[Entry]
    with_catalog: bool
    architecture: str = DEFAULT_ARCHITECTURE

    def list_offers(self) -> list[Offer]:
        """All instance types that are there, of files before those of the catalogue with the same name."""
        objects = [entry.object for entry in self.entries]
        if self.with_catalog:
            objects += builtin.load()
        offers: dict[tuple[str, str], Offer] = {}
        for each in objects:
            spec = instancetype_spec(each)
            name = (each.metadata.name if each.metadata else None) or ""
            if spec is not None:
                offers.setdefault((each.kind, name), Offer(each.kind, name, spec))
        return list(offers.values())

    def find_preference(self, name: str, kind: str) -> VirtualMachinePreferenceSpec | None:
        """What a preference asks for; StatusError if it is not there."""
        elsewhere = PLACE if self.place == PLACE else ""
        found = find_source(name, (kind,), self.entries, with_catalog=self.with_catalog, elsewhere=elsewhere)
        return preference_spec(found.object)


def complete_preference(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Offer the cluster-wide preferences that begin so."""
    return complete_kinds(ctx, PREFERENCES[:1], incomplete)


@click.command(
    "recommend",
    cls=Command,
    short_help="Find the smallest instance type for a need.",
    examples=[
        Example("At least 4 vCPUs and 8Gi", "virtctl recommend --cpu-min 4 --memory-min 8Gi"),
        Example(
            "What Windows needs, without dedicated CPUs", "virtctl recommend --preference windows.11 --no-dedicated"
        ),
        Example(
            "The smallest one, in a new VM",
            "virtctl create vm --instancetype $(virtctl recommend --cpu-min 2 -o json | jq -r '.[0].name')",
        ),
        Example("Of the built-in catalogue, all with hugepages", "virtctl recommend --hugepages --catalog --all"),
        Example("Of files", "virtctl recommend -f instancetypes/ --memory-max 16Gi"),
    ],
)
@click.option("--cpu-min", type=WholeNumber(1, MOST_VCPUS), help="The least number of vCPUs.")
@click.option("--cpu-max", type=WholeNumber(1, MOST_VCPUS), help="The greatest number of vCPUs.")
@click.option("--memory-min", metavar="QUANTITY", type=Size(), help="The least memory, such as 4Gi.")
@click.option("--memory-max", metavar="QUANTITY", type=Size(), help="The most memory.")
@click.option(
    "--preference",
    metavar="NAME",
    shell_complete=complete_preference,
    help="A preference whose requirements are to be met.",
)
@click.option(
    "--preference-kind",
    metavar="KIND",
    help="The kind of that preference, in any spelling that kubectl takes; the cluster-wide one if not given.",
)
@click.option("--dedicated/--no-dedicated", default=None, help="With CPUs of its own, or without; else either.")
@switch("--hugepages", default=None, help="With hugepages, or with =false without; else either.")
@click.option("--gpus", type=WholeNumber(0, MOST_VCPUS), default=0, help="The least number of GPUs.")
@switch("--all", "show_all", default=False, help=f"Show all that would do, in place of the first {MOST_SHOWN}.")
@files_option
@switch("--catalog", default=False, help="Look in the built-in catalogue, beside the files if there are any.")
@output_choice("table", "json", "yaml", "name", help="How to print them.")
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
    Print the smallest instance types that give what is needed: fewest vCPUs first, then least memory, then plainest.

    The server is asked for its instance types, those of the whole cluster and those of the namespace, unless -f or
    --catalog says where they stand; where no server is known, they are those of the built-in catalogue. Instance types
    that leave vCPUs or memory to the VM, such as the `custom` sizes, are not considered.

    If none would do, the exit status is 1, and the nearest ones are named with what they lack.
    """
    need = Need(cpu_min, cpu_max, memory_min, memory_max, dedicated, hugepages, gpus)
    kind = check_flags(need, preference, preference_kind)
    around = look_around(target, files, with_preferences=preference is not None, catalog=catalog)
    if preference is not None:
        asked = around.find_preference(preference, kind)
        need = need._replace(preference=asked, architecture=around.architecture)
    fitting, missing = recommend(around.list_offers(), need)
    if not fitting:
        raise explain_nothing(missing, around.place)
    shown = fitting if show_all else fitting[:MOST_SHOWN]
    print_offers(shown, output)
    if len(shown) < len(fitting):
        click.echo(f"{len(fitting) - len(shown)} more would do; --all shows them", err=True)


def check_flags(need: Need, preference: str | None, preference_kind: str | None) -> str:
    """Refuse flags that cannot mean anything; the kind of preference that is meant."""
    problems, kind = Problems(), PREFERENCES[0]
    if need.cpu_min is not None and need.cpu_max is not None and need.cpu_min > need.cpu_max:
        problems.lines.append(f"--cpu-min {need.cpu_min} is more than --cpu-max {need.cpu_max}")
    if need.memory_min is not None and need.memory_max is not None and need.memory_min.amount > need.memory_max.amount:
        problems.lines.append(f"--memory-min {need.memory_min} is more than --memory-max {need.memory_max}")
    if preference_kind is not None:
        with problems.of("--preference-kind"):
            kind = read_kind(preference_kind)
            if kind not in PREFERENCES:
                raise ParameterError(f"{kind} is no kind of preference; there are {' and '.join(PREFERENCES)}")
        if preference is None:
            problems.lines.append("--preference-kind goes with --preference")
    problems.refuse()
    return kind


def look_around(target: Target, files: Sequence[str], *, with_preferences: bool, catalog: bool) -> Surroundings:
    """Read all that a recommendation looks at, from where it stands."""
    if files or catalog:
        loaded = load(files, is_source)
        loaded.raise_problems()
        entries = [entry for entry in loaded.entries if is_meant(entry, target.namespace)]
        places = [*(["the files"] if files else []), *(["the built-in catalogue"] if catalog else [])]
        return Surroundings(" or ".join(places), entries, with_catalog=catalog)

    async def read(session: Session) -> Surroundings:
        kinds = INSTANCETYPES + PREFERENCES if with_preferences else INSTANCETYPES
        entries = await Cluster(session).list_sources(kinds)
        configuration = await find_configuration(session) if with_preferences else None
        return Surroundings(PLACE, entries, False, default_architecture(configuration))

    try:
        return run_session(target, read, instead="--catalog looks in the built-in catalogue.")
    except NoServer:
        return Surroundings("the built-in catalogue", (), with_catalog=True)


def is_meant(entry: Entry, namespace: str) -> bool:
    """Whether an object of a file counts in a namespace; where none is asked for, all do."""
    metadata = entry.object.metadata
    stated = metadata.namespace if metadata else None
    return not namespace or not stated or stated == namespace


def explain_nothing(missing: Sequence[Miss], place: str) -> Refusal:
    """The refusal where no instance type would do, with what the nearest ones lack."""
    if not missing:
        step = "Look in another place with --catalog, -f, -n or --context."
        return Refusal(f"there are no instance types with a size in {place}", next_step=step)
    causes = [f"{miss.offer.name}: {'; '.join(miss.reasons)}" for miss in missing[:MOST_EXPLAINED]]
    step = "Ask for less, or make one with `virtctl create instancetype`."
    return Refusal(f"no instance type of {place} would do; the nearest are", causes, step)


def print_offers(offers: Sequence[Offer], output: str) -> None:
    """Print instance types in the order they have."""
    if output == "table":
        print_table(["NAME", "VCPU", "MEMORY", "DEDICATED", "KIND"], map(describe_row, offers))
    elif output == "name":
        print_names(offers)
    else:
        print_object([describe_offer(offer) for offer in offers], output)


def print_names(offers: Iterable[Offer]) -> None:
    """Print instance types as kubectl names them."""
    for offer in offers:
        click.echo(f"{offer.kind.lower()}.{INSTANCETYPE_GROUP}/{offer.name}")


def describe_row(offer: Offer) -> list[object]:
    """An instance type as the row of a table."""
    return [offer.name, offer.vcpus, offer.memory, str(offer.is_dedicated).lower(), offer.kind]


def describe_offer(offer: Offer) -> dict[str, Any]:
    """An instance type as a tree."""
    return {
        "kind": offer.kind,
        "name": offer.name,
        "vcpus": offer.vcpus,
        "memory": str(offer.memory),
        "dedicated": offer.is_dedicated,
        "hugepages": offer.hugepages,
        "gpus": offer.gpus,
    }
