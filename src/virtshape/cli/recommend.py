"""
`virtctl recommend`: find the instance types with the least waste on a server, in files or in the built-in catalog.

With --rewrite, print a VM that uses the best one.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

import click
from click.shell_completion import CompletionItem
from msgspec.structs import replace

from virtshape.admission.recommend import (
    Miss,
    Need,
    Offer,
    describe_offer,
    explain_fit,
    find_waste,
    format_percent,
    recommend,
)
from virtshape.admission.recommendneeds import (
    DEFAULT_HEADROOM,
    MAX_HEADROOM,
    Usage,
    need_like,
    need_of_usage,
    override_need,
)
from virtshape.api.codec import to_tree
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.quantity import Quantity
from virtshape.api.unknownfields import decode_with_unknown
from virtshape.cli.candidates import PREFERENCES, get_candidates
from virtshape.cli.command import Command, Example, Integer, files_option, output_choice, switch
from virtshape.cli.connection import Target, complete_vm, connection_options
from virtshape.cli.create.parameters import ParameterError
from virtshape.cli.create.problems import Problems
from virtshape.cli.customize import complete_kinds, parse_kind
from virtshape.cli.drift import describe_change
from virtshape.cli.errors import CommandError, warn
from virtshape.cli.output import print_object, print_table
from virtshape.cli.paramtypes import Size
from virtshape.cli.recommendneeds import CloudSizeType, Percent, UsageType, need_of_vm
from virtshape.cli.resolvedvm import ResolvedVM
from virtshape.engine.cloudsizes import CloudSize
from virtshape.engine.compare import compare_values
from virtshape.engine.rewrite import use_instancetype
from virtshape.resolve.matcher import INSTANCETYPE_GROUP

MAX_SHOWN = 5
MAX_EXPLAINED = 3
MAX_VCPUS = 2**32 - 1


def complete_preference(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of cluster-wide preferences."""
    return complete_kinds(ctx, PREFERENCES[:1], incomplete)


@click.command(
    "recommend",
    cls=Command,
    short_help="Find the best instance types for a size, a VM or measured usage.",
    examples=[
        Example("Require at least 4 vCPUs and 8Gi of memory", "virtctl recommend --cpu-min 4 --memory-min 8Gi"),
        Example(
            "Meet the requirements of Windows, without dedicated CPUs",
            "virtctl recommend --preference windows.11 --no-dedicated",
        ),
        Example(
            "Use the best match in a new VM",
            "virtctl create vm --instancetype $(virtctl recommend --cpu-min 2 -o json | jq -r '.[0].name')",
        ),
        Example(
            "Require a GPU, support for Windows 11 and at most 20% waste",
            "virtctl recommend --cpu-min 4 --memory-min 10Gi --gpu --preference windows.11 --max-waste 20%",
        ),
        Example("Find the equivalent of a cloud's instance type", "virtctl recommend --like aws:m5.large"),
        Example(
            "Size for measured usage, with 30% headroom", "virtctl recommend --usage cpu=2.3,memory=6Gi --headroom 30%"
        ),
        Example("Show alternatives for a VM", "virtctl recommend --for-vm web"),
        Example("Reduce an oversized VM to its usage", "virtctl recommend --for-vm web --usage cpu=0.4,memory=1Gi"),
        Example(
            "Make a VM with its own size use the best instance type",
            "virtctl recommend --for-vm web --rewrite | kubectl replace -f -",
        ),
        Example(
            "List all instance types with hugepages in the built-in catalog",
            "virtctl recommend --hugepages --catalog --all",
        ),
        Example("Search the instance types in files", "virtctl recommend -f instancetypes/ --memory-max 16Gi"),
        Example(
            "Find the size that a VM should set with an open instance type",
            "virtctl recommend --cpu-min 5 --memory-min 12Gi --custom",
        ),
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
@switch(
    "--custom",
    default=False,
    help="Include instance types that leave sizes open, each with the smallest size that it allows.",
)
@switch("--gpu", default=False, help="Require at least one GPU; the same as --gpus 1.")
@click.option(
    "--max-waste",
    metavar="PERCENT",
    type=Percent(100),
    help="Maximum waste of vCPUs and of memory, such as 20%: the share that exceeds what is needed.",
)
@click.option("--for-vm", metavar="NAME", shell_complete=complete_vm, help="Use the size and preference of a VM.")
@click.option(
    "--usage",
    metavar="cpu=CORES,memory=QUANTITY",
    type=UsageType(),
    help="Use measured usage plus the headroom as the minimum size, such as cpu=2.3,memory=6Gi.",
)
@click.option(
    "--headroom",
    metavar="PERCENT",
    type=Percent(MAX_HEADROOM),
    default=f"{DEFAULT_HEADROOM}%",
    show_default=True,
    help="Percentage to add to --usage.",
)
@click.option(
    "--like",
    metavar="CLOUD:NAME",
    type=CloudSizeType(),
    help="Use the size of an AWS, Azure or GCP instance type, such as aws:m5.large.",
)
@switch("--rewrite", default=False, help="Print the VM of --for-vm, changed to use the best instance type.")
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
    custom: bool,
    gpu: bool,
    max_waste: Decimal | None,
    for_vm: str | None,
    usage: Usage | None,
    headroom: Decimal,
    like: CloudSize | None,
    rewrite: bool,
    show_all: bool,
    files: Sequence[str],
    catalog: bool,
    output: str,
    target: Target,
) -> None:
    """
    Print the instance types that match, those with the least waste first.

    Waste is the share of vCPUs and of memory that is more than needed. With equal waste, fewer vCPUs, less memory and
    fewer special features come first. The required size results from the minimums, the requirements of the preference,
    and the size from --for-vm, --usage or --like; --cpu-min, --memory-min and --usage take precedence over the size of
    a VM.

    The cluster-wide and namespaced instance types of the server are searched, unless -f or --catalog is given. Without
    a server the built-in catalog is searched. Deprecated and retired instance types are ignored and, without --custom,
    also instance types that leave their size to the VM. With --custom, VCPU and MEMORY are what a VM should set:
    `virtctl create vm --vcpus --memory`. --for-vm reads the VM from the files if -f is given, otherwise from the
    server.

    With --rewrite, the VM is printed with a reference to the first match and without the fields that conflict with
    it. What changes for the guest is printed to standard error.

    Exit status: 0 success, 1 if none matches; the closest ones are listed with the reasons.
    """
    stated = Need(
        cpu_min, cpu_max, memory_min, memory_max, dedicated, hugepages, max(gpus, int(gpu)), max_waste=max_waste
    )
    kind = validate_flags(stated, preference, preference_kind)
    validate_sources(for_vm, like, usage, rewrite=rewrite, custom=custom, output=output)
    candidates = get_candidates(target, files, with_preferences=preference is not None, catalog=catalog, for_vm=for_vm)
    need = need_of_vm(candidates.vm) if candidates.vm is not None else Need(architecture=candidates.architecture)
    if like is not None:
        need = need_like(like)._replace(architecture=candidates.architecture)
    if usage is not None:
        need = override_need(need, need_of_usage(usage, headroom))
    need = override_need(need, stated)
    if preference is not None:
        need = need._replace(preference=candidates.find_preference(preference, kind))
    offers = candidates.list_offers()
    fitting, missing = recommend(offers, need, with_custom=custom)
    if not fitting:
        fitting_custom = recommend(offers, need, with_custom=True).fitting
        raise explain_no_match(missing, candidates.place, fitting_custom)
    if rewrite and candidates.vm is not None:
        print_rewritten(candidates.vm, fitting[0], "json" if output == "json" else "yaml")
        return
    shown = fitting if show_all else fitting[:MAX_SHOWN]
    print_offers(shown, need, output)
    if len(shown) < len(fitting):
        click.echo(f"{len(fitting) - len(shown)} more instance types match; --all shows them", err=True)


def validate_sources(
    for_vm: str | None, like: CloudSize | None, usage: Usage | None, *, rewrite: bool, custom: bool, output: str
) -> None:
    """Raise ArgumentError for flags that cannot be combined."""
    problems = Problems()
    if like is not None and (for_vm is not None or usage is not None):
        other = "--for-vm" if for_vm is not None else "--usage"
        problems.lines.append(f"--like and {other} are mutually exclusive")
    if rewrite and for_vm is None:
        problems.lines.append("--rewrite requires --for-vm")
    if rewrite and custom:
        problems.lines.append("--rewrite and --custom are mutually exclusive")
    if rewrite and output == "name":
        problems.lines.append("--rewrite prints a VM: -o must be yaml or json")
    problems.raise_all()


def print_rewritten(resolved: ResolvedVM, offer: Offer, output: str) -> None:
    """Print the VM with a reference to the instance type; report what changes for the guest."""
    if resolved.vm.spec.flavor is not None:
        step = "First replace the flavor and the preference of its API group."
        raise CommandError(f"{resolved.name} uses a flavor and cannot be rewritten", next_step=step)
    tree, removed = use_instancetype(resolved.tree, resolved.vm, offer.kind, offer.name, offer.spec)
    shape = replace(resolved.shape, instancetype=offer.spec, layout="sockets")
    spec = resolved.build_spec(decode_with_unknown(tree, VirtualMachine)[0], shape)
    print_object(tree, output)
    without = f", without {', '.join(removed)}" if removed else ""
    click.echo(f"{resolved.name} uses {offer.name}{without}", err=True)
    for change in compare_values(resolved.spec, spec, "spec.template.spec"):
        warn(f"the guest changes: {describe_change(change)}")


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


def explain_no_match(missing: Sequence[Miss], place: str, custom: Sequence[Offer]) -> CommandError:
    """Return the error that lists the closest instance types and suggests a custom size if one matches."""
    if not missing:
        step = suggest_custom(custom) or "Search elsewhere with --catalog, -f, -n or --context."
        return CommandError(f"no instance types with a size in {place}", next_step=step)
    causes = [f"{miss.offer.name}: {'; '.join(miss.reasons)}" for miss in missing[:MAX_EXPLAINED]]
    step = (
        suggest_custom(custom)
        or "Relax the requirements, or create an instance type with `virtctl create instancetype`."
    )
    return CommandError(f"no instance type in {place} matches; the closest are", causes, step)


def suggest_custom(offers: Sequence[Offer]) -> str:
    """Return a hint with the first of these instance types and the size that a VM would set, or an empty string."""
    if not offers:
        return ""
    first = offers[0]
    return f"With --custom, {first.name} matches, for a VM with {first.vcpus} vCPUs and {first.memory}."


def print_offers(offers: Sequence[Offer], need: Need, output: str) -> None:
    """Print instance types in the output format."""
    if output == "table":
        headers = ["NAME", "VCPU", "MEMORY", "DEDICATED", "WASTE", "KIND", "REASON"]
        print_table(headers, [describe_row(offer, need) for offer in offers])
    elif output == "name":
        print_names(offers)
    else:
        print_object([to_tree(describe_offer(offer, need)) for offer in offers], output)


def print_names(offers: Iterable[Offer]) -> None:
    """Print instance types in the format of kubectl -o name."""
    for offer in offers:
        click.echo(f"{offer.kind.lower()}.{INSTANCETYPE_GROUP}/{offer.name}")


def describe_row(offer: Offer, need: Need) -> list[object]:
    """Return the table row of an instance type."""
    dedicated = str(offer.is_dedicated).lower()
    return [
        offer.name,
        offer.vcpus,
        offer.memory,
        dedicated,
        describe_waste(offer, need),
        offer.kind,
        explain_fit(offer, need),
    ]


def describe_waste(offer: Offer, need: Need) -> str:
    """Return the waste as in `0% CPU, 38% memory`; a hyphen if neither vCPUs nor memory are needed."""
    waste = find_waste(offer, need)
    shares = ((waste.cpu, "CPU"), (waste.memory, "memory"))
    return ", ".join(f"{format_percent(share)} {what}" for share, what in shares if share is not None) or "-"
