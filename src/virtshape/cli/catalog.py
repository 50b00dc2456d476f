"""`virtshape catalog`: print the built-in instance types and preferences."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from virtshape.api.wellknown import DISPLAY_NAME_ANNOTATION, OPENSHIFT_DISPLAY_NAME_ANNOTATION
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.errors import suggest

if TYPE_CHECKING:
    from virtshape.catalog import CatalogObject

INSTANCETYPE_COLUMNS = {
    "VCPUS": "cpu",
    "MEMORY": "memory",
    "HUGEPAGES": "hugepages",
    "DEDICATED": "dedicatedCPUPlacement",
    "CLASS": "class",
}
PREFERENCE_COLUMNS = {
    "MIN-VCPUS": "required-cpu",
    "MIN-MEMORY": "required-memory",
    "ARCH": "arch",
    "OS": "os-type",
}


def complete_series(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the names of series."""
    return [CompletionItem(series) for series in list_sizes() if series.startswith(incomplete)]


def complete_size(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the sizes of the given series, or of all series."""
    chosen = ctx.params.get("series")
    known = {size: None for series, sizes in list_sizes().items() if not chosen or series in chosen for size in sizes}
    return [CompletionItem(size) for size in known if size.startswith(incomplete)]


@click.command(
    "catalog",
    cls=Command,
    short_help="Print the built-in instance types and preferences.",
    examples=[
        Example("Install the whole catalog on a cluster", "virtshape catalog | kubectl apply -f -"),
        Example("Compare the sizes of two series", "virtshape catalog --series u1 --series cx1 -o table"),
        Example(
            "Install the preferences in a namespace of a KubeVirt cluster",
            "virtshape catalog --preferences --kind namespaced --api-version v1beta1 | kubectl apply -n dev -f -",
        ),
    ],
)
@click.option(
    "--kind",
    type=click.Choice(["cluster", "namespaced"]),
    default="cluster",
    show_default=True,
    help="Print cluster-wide or namespaced kinds.",
)
@click.option(
    "--series",
    multiple=True,
    shell_complete=complete_series,
    help="Only instance types of this series, such as u1. Can be repeated.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    shell_complete=complete_size,
    help="Only instance types of this size, such as medium. Can be repeated.",
)
@switch("--instancetypes", default=False, help="Only instance types, unless --preferences is given too.")
@switch("--preferences", default=False, help="Only preferences, unless --instancetypes is given too.")
@click.option(
    "--api-version",
    type=click.Choice(["v1beta2", "v1beta1"]),
    default="v1beta2",
    show_default=True,
    help="API version of the objects. Use v1beta1 for a stock KubeVirt cluster; v1beta1 has no custom sizes.",
)
@output_choice("yaml", "json", "table", help="Output format.")
def command(
    kind: str,
    series: Sequence[str],
    sizes: Sequence[str],
    instancetypes: bool,
    preferences: bool,
    api_version: str,
    output: str,
) -> None:
    """
    Print the built-in instance types and preferences.

    --series and --size select instance types only.
    """
    # Imported here to keep `--help` fast.
    from virtshape import catalog
    from virtshape.cli.output import print_objects

    asks_for_instancetypes = bool(instancetypes or series or sizes)
    chosen = choose_instancetypes(series, sizes) if asks_for_instancetypes or not preferences else []
    if preferences or not asks_for_instancetypes:
        chosen += catalog.names("VirtualMachineClusterPreference")
    loaded = {get_name(each): each for each in catalog.load(kind == "namespaced", api_version)}
    report_left_out([name for name in chosen if name not in loaded], chosen, api_version)
    objects = [loaded[name] for name in chosen if name in loaded]
    if output == "table":
        print_tables(objects)
    else:
        print_objects(objects, output)


def choose_instancetypes(series: Sequence[str], sizes: Sequence[str]) -> list[str]:
    """Return the names of the instance types in these series and of these sizes; an empty sequence selects all."""
    known = list_sizes()
    require_known("series", series, known)
    known = {each: known[each] for each in known if not series or each in series}
    require_known("size", sizes, dict.fromkeys(size for each in known.values() for size in each))
    return [f"{each}.{size}" for each in known for size in known[each] if not sizes or size in sizes]


def list_sizes() -> dict[str, list[str]]:
    """Return the sizes of each series."""
    from virtshape import catalog

    sizes: dict[str, list[str]] = {}
    for name in catalog.names("VirtualMachineClusterInstancetype"):
        series, _, size = name.partition(".")
        sizes.setdefault(series, []).append(size)
    return sizes


def require_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise UsageError, with similar names, for the first name that is not in the catalog."""
    for name in names:
        if name not in known:
            hint = suggest(name, known) or f"; must be one of {', '.join(known)}"
            raise click.UsageError(f'unknown {what} "{name}"{hint}', click.get_current_context())


def report_left_out(left_out: Sequence[str], chosen: Sequence[str], version: str) -> None:
    """Print the selected objects that were skipped, as the API version requires sizes; raise UsageError if all were."""
    if left_out and len(left_out) == len(chosen):
        raise click.UsageError(
            f"custom sizes have no vCPUs and memory, but {version} requires them; use --api-version v1beta2",
            click.get_current_context(),
        )
    if left_out:
        click.echo(f"note: skipped {', '.join(left_out)}: {version} requires vCPUs and memory", err=True)


def print_tables(objects: Iterable["CatalogObject"]) -> None:
    """Print a table of instance types and a table of preferences."""
    from virtshape.cli.output import print_table

    tables: dict[bool, list[CatalogObject]] = {}
    for each in objects:
        tables.setdefault("Preference" in each.kind, []).append(each)
    for number, (is_preference, members) in enumerate(tables.items()):
        if number:
            click.echo()
        columns = PREFERENCE_COLUMNS if is_preference else INSTANCETYPE_COLUMNS
        print_table(["NAME", *columns, "TITLE"], [describe_row(each, columns) for each in members])


def describe_row(each: "CatalogObject", columns: Mapping[str, str]) -> list[str]:
    """Return the table row of an object."""
    labels = each.metadata.labels or {}
    texts = each.metadata.annotations or {}
    title = texts.get(DISPLAY_NAME_ANNOTATION) or texts.get(OPENSHIFT_DISPLAY_NAME_ANNOTATION, "")
    cells = [labels.get(f"instancetype.kubevirt.io/{label}", "<none>") for label in columns.values()]
    return [get_name(each), *cells, title]


def get_name(each: "CatalogObject") -> str:
    """Return the name of an object."""
    return each.metadata.name or ""
