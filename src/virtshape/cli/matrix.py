"""`virtshape matrix`: show which instance types and preferences can be used together, and why others cannot."""

import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from virtshape import catalog as builtin
from virtshape.admission.compatibility import NamedInstancetype, NamedPreference, NamedSpec, Pair, check_pairs
from virtshape.admission.rules.vmi import ARCHITECTURES
from virtshape.api.model import JsonObject
from virtshape.cli.candidates import INSTANCETYPES, PREFERENCES, Candidates, get_candidates
from virtshape.cli.command import Command, Example, files_option, output_choice, switch
from virtshape.cli.connection import Target, connection_options
from virtshape.cli.customize import complete_kinds
from virtshape.cli.errors import CommandError, suggest
from virtshape.cli.matrixpage import render_page
from virtshape.cli.output import GAP, print_object, print_table
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.offline.files import find_duplicates
from virtshape.offline.problems import FilesError
from virtshape.resolve.find import instancetype_spec, preference_spec

S = TypeVar("S")


def complete_instancetype(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of cluster-wide instance types."""
    return complete_kinds(ctx, INSTANCETYPES[:1], incomplete)


def complete_preference(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete names of cluster-wide preferences."""
    return complete_kinds(ctx, PREFERENCES[:1], incomplete)


@click.command(
    "matrix",
    cls=Command,
    short_help="Show which instance types and preferences can be used together.",
    examples=[
        Example("Check the instance types and preferences in files", "virtshape matrix -f manifests/"),
        Example(
            "Check your own instance types with the built-in preferences", "virtshape matrix -f types.yaml --catalog"
        ),
        Example(
            "Show which general-purpose sizes Windows can use",
            "virtshape matrix --catalog --instancetype 'u1.*' --preference 'windows.*'",
        ),
        Example("Write an HTML page for users", "virtshape matrix --catalog -o html > matrix.html"),
        Example(
            "List the pairs that cannot be used together",
            "virtshape matrix -f manifests/ -o json | jq '.items[] | select(.compatible | not)'",
        ),
    ],
)
@files_option
@switch("--catalog", default=False, help="Use the built-in catalog, in addition to any files.")
@click.option(
    "--instancetype",
    "instancetype_patterns",
    metavar="PATTERN",
    multiple=True,
    shell_complete=complete_instancetype,
    help="Only instance types whose name matches this pattern, such as 'u1.*'. Can be repeated.",
)
@click.option(
    "--preference",
    "preference_patterns",
    metavar="PATTERN",
    multiple=True,
    shell_complete=complete_preference,
    help="Only preferences whose name matches this pattern. Can be repeated.",
)
@click.option(
    "--architecture",
    type=click.Choice(ARCHITECTURES),
    help="Architecture of VMs if the preference sets none.  [default: that of the server, or amd64]",
)
@output_choice("table", "csv", "json", "html", help="Output format.")
@connection_options
def command(
    *,
    files: Sequence[str],
    catalog: bool,
    instancetype_patterns: Sequence[str],
    preference_patterns: Sequence[str],
    architecture: str | None,
    output: str,
    target: Target,
) -> None:
    """
    Show instance types and preferences as rows and columns: yes, or no with the reasons.

    The cluster-wide and namespaced objects of the server are compared, unless -f or --catalog is given. Without a
    server the built-in catalog is used. The checks are the same as for a new VM: requirements of the preference that
    the instance type does not meet, vCPUs that cannot be spread as the preference asks, and retired objects. A size
    that the instance type leaves to the VM counts as sufficient.
    """
    candidates = get_candidates(target, files, with_preferences=True, catalog=catalog)
    instancetypes, preferences = list_specs(candidates)
    pairs = check_pairs(
        select("instance type", instancetypes, instancetype_patterns, candidates.place),
        select("preference", preferences, preference_patterns, candidates.place),
        architecture or candidates.architecture,
    )
    if output == "json":
        print_object({"items": [describe_pair(pair) for pair in pairs]}, "json")
        return
    rows = [list(row) for _, row in groupby(pairs, key=lambda pair: pair.instancetype)]
    labels = name_specs([row[0].instancetype for row in rows]), name_specs([pair.preference for pair in rows[0]])
    reasons = [[[problem.message for problem in pair.problems] for pair in row] for row in rows]
    if output == "table":
        print_matrix(*labels, reasons)
    elif output == "csv":
        print_csv(*labels, reasons)
    else:
        click.echo(render_page(*labels, reasons), nl=False)


def list_specs(candidates: Candidates) -> tuple[list[NamedInstancetype], list[NamedPreference]]:
    """Return all instance types and preferences; objects in files replace the catalog's objects of the same name."""
    duplicates = list(find_duplicates(candidates.entries))
    if duplicates:
        raise FilesError(duplicates)
    objects = [entry.object for entry in candidates.entries]
    if candidates.with_catalog:
        objects += builtin.load()
    known: dict[tuple[str, str, str], Any] = {}
    for each in objects:
        namespace = (each.metadata.namespace or "") if "Cluster" not in each.kind else ""
        known.setdefault((each.kind, namespace, each.metadata.name or ""), each)
    instancetypes, preferences = [], []
    for (kind, namespace, name), each in known.items():
        instancetype, preference = instancetype_spec(each), preference_spec(each)
        if instancetype is not None:
            instancetypes.append(NamedSpec(kind, name, namespace, instancetype, read_lifecycle(each.metadata)))
        if preference is not None:
            preferences.append(NamedSpec(kind, name, namespace, preference, read_lifecycle(each.metadata)))
    return instancetypes, preferences


def select(what: str, specs: Sequence[NamedSpec[S]], patterns: Sequence[str], place: str) -> list[NamedSpec[S]]:
    """Return the specs whose names match a pattern, or all without patterns; raise CommandError if nothing matches."""
    if not specs:
        step = "Add -f or --catalog, or choose another server or namespace with --context or -n."
        raise CommandError(f"no {what}s in {place}", next_step=step)
    for pattern in patterns:
        if not any(fnmatchcase(each.name, pattern) for each in specs):
            hint = suggest(pattern, [each.name for each in specs])
            raise CommandError(f'no {what} in {place} matches "{pattern}"{hint}')
    return [each for each in specs if not patterns or any(fnmatchcase(each.name, pattern) for pattern in patterns)]


def name_specs(specs: Sequence[NamedSpec[S]]) -> list[str]:
    """Return the names, with namespace and kind where a name occurs several times."""
    counts = Counter(each.name for each in specs)
    return [each.name if counts[each.name] == 1 else _full_name(each) for each in specs]


def _full_name(each: NamedSpec[S]) -> str:
    return "/".join(filter(None, (each.namespace, each.kind.lower(), each.name)))


def describe_pair(pair: Pair) -> JsonObject:
    """Return a pair as a JSON object in the format of the check-compatibility API, with namespaces."""
    problems = [{"field": each.field, "reason": each.reason, "message": each.message} for each in pair.problems]
    return {
        "instancetype": _describe_spec(pair.instancetype),
        "preference": _describe_spec(pair.preference),
        "compatible": not problems,
        "problems": problems,
    }


def _describe_spec(each: NamedSpec[S]) -> JsonObject:
    return {"name": each.name, "kind": each.kind} | ({"namespace": each.namespace} if each.namespace else {})


def print_csv(rows: Sequence[str], columns: Sequence[str], reasons: Sequence[Sequence[Sequence[str]]]) -> None:
    """Print one line per instance type and one column per preference."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["instancetype", *columns])
    for name, cells in zip(rows, reasons, strict=True):
        writer.writerow([name, *(f"no: {'; '.join(cell)}" if cell else "yes" for cell in cells)])


def print_matrix(rows: Sequence[str], columns: Sequence[str], reasons: Sequence[Sequence[Sequence[str]]]) -> None:
    """Print the matrix, in several tables if the terminal is narrow, and then the numbered reasons."""
    numbers: dict[str, int] = {}
    for reason in (reason for cells in reasons for cell in cells for reason in cell):
        numbers.setdefault(reason, len(numbers) + 1)
    texts = [
        [f"no ({', '.join(str(numbers[reason]) for reason in cell)})" if cell else "yes" for cell in cells]
        for cells in reasons
    ]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    left = max(map(len, ("INSTANCETYPE", *rows)))
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for first, last in split_columns(widths, limit - left if limit else None):
        print_table(
            ["INSTANCETYPE", *columns[first:last]],
            [[name, *cells[first:last]] for name, cells in zip(rows, texts, strict=True)],
        )
        click.echo()
    yes = sum(not cell for cells in reasons for cell in cells)
    click.echo(f"{yes} of {len(rows) * len(columns)} pairs can be used together")
    print_reasons(numbers)


def split_columns(widths: Sequence[int], limit: int | None) -> Iterator[tuple[int, int]]:
    """Yield each table's first column and the column after its last; tables fit into `limit` characters if possible."""
    first = used = 0
    for index, width in enumerate(widths):
        if limit is not None and index > first and used + len(GAP) + width > limit:
            yield first, index
            first, used = index, 0
        used += len(GAP) + width
    yield first, len(widths)


def print_reasons(numbers: Iterable[str]) -> None:
    """Print the numbered reasons, if any."""
    for number, reason in enumerate(numbers, 1):
        click.echo(f"{number:>3}  {reason}")
