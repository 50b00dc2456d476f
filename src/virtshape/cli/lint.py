"""
`virtshape lint`: check VMs, instance types and preferences in files.

    0 no findings    1 findings    2 a path cannot be read, or the command line is invalid
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.errors import ArgumentError

if TYPE_CHECKING:
    from virtshape.offline.lint import Finding, Run

LEVELS = ("error", "warning", "note")


@click.command(
    "lint",
    cls=Command,
    short_help="Check VMs, instance types and preferences in files.",
    examples=[
        Example("Check the manifests in a directory, recursively", "virtshape lint manifests/"),
        Example(
            "Check the output of a tool, without the built-in objects",
            "kustomize build | virtshape lint --no-catalog -",
        ),
        Example("Annotate a pull request on GitHub", "virtshape lint -o github manifests/"),
        Example("Write a SARIF file for code scanning", "virtshape lint -o sarif manifests/ > lint.sarif"),
    ],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@switch("--no-catalog", default=False, help="Do not use the built-in instance types and preferences.")
@output_choice("text", "json", "sarif", "github", help="Output format.")
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="Exit with status 1 if there is a finding of this level or higher.",
)
def command(paths: Sequence[str], no_catalog: bool, output: str, fail_on: str) -> int:
    """
    Check VMs, instance types, flavors and preferences against each other.

    PATH is a file, a directory, or - for standard input. References are resolved in all given files and then in the
    built-in catalog.

    Exit status: 0 no findings, 1 findings, 2 a path cannot be read.
    """
    # Imported here to keep `--help` fast.
    from virtshape.offline.lint import Run
    from virtshape.offline.problems import FilesError

    counts: Counter[str] = Counter()
    try:
        run = Run(paths, catalog=not no_catalog)
        print_findings(run, output, counts)
    except FilesError as error:
        raise ArgumentError("some paths cannot be read", [str(problem) for problem in error.problems]) from None
    click.echo(summarize(counts, run.checked, len(run.files)), err=True)
    failing = LEVELS[: LEVELS.index(fail_on) + 1]
    return 1 if any(counts[level] for level in failing) else 0


def print_findings(run: "Run", output: str, counts: Counter[str]) -> None:
    """Print the findings as they are found, and count them."""
    from virtshape.cli.progress import Progress
    from virtshape.offline import report

    render = report.render_colored if output == "text" and wants_color() else report.RENDERERS[output]
    progress = Progress("files checked")
    try:
        for piece in render(count_findings(run.find(progress.show), counts)):
            progress.clear()
            sys.stdout.write(piece)
    finally:
        progress.clear()
        sys.stdout.flush()  # the summary comes last when both streams go to one log


def count_findings(findings: Iterator["Finding"], counts: Counter[str]) -> Iterator["Finding"]:
    """Yield the findings, and count them by level."""
    for finding in findings:
        counts[finding.level] += 1
        yield finding


def wants_color() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def summarize(counts: Mapping[str, int], checked: int, files: int) -> str:
    """Return the summary line."""
    found = ", ".join(count(counts[level], level) for level in LEVELS if counts.get(level)) or "no findings"
    return f"{found}; {count(checked, 'object')} in {count(files, 'file')} checked"


def count(number: int, noun: str) -> str:
    """Return the number with the noun in singular or plural."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
