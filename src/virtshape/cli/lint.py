"""
`virtshape lint`: everything that is wrong with VMs, instance types and preferences in files, before a server sees them.

    0 nothing found    1 findings    2 a file or folder cannot be read, or the command line is not understood

Only flags, output and the exit status; what a finding is and how it is written is decided elsewhere.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.errors import NotUnderstood

if TYPE_CHECKING:
    from virtshape.offline.lint import Finding, Run

LEVELS = ("error", "warning", "note")


@click.command(
    "lint",
    cls=Command,
    short_help="Check VMs, instance types and preferences in files.",
    examples=[
        Example("Check the manifests of a folder, and all folders in it", "virtshape lint manifests/"),
        Example(
            "Check what a tool generates, without the built-in objects",
            "kustomize build | virtshape lint --no-catalog -",
        ),
        Example("Annotate a pull request on GitHub", "virtshape lint -o github manifests/"),
        Example("Hand the findings to code scanning", "virtshape lint -o sarif manifests/ > lint.sarif"),
    ],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@switch("--no-catalog", default=False, help="Know only the objects of the files, not the built-in instance types.")
@output_choice("text", "json", "sarif", "github", help="How to print the findings.")
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    default="warning",
    show_default=True,
    help="Exit with status 1 if there is a finding of this level or a graver one.",
)
def command(paths: Sequence[str], no_catalog: bool, output: str, fail_on: str) -> int:
    """
    Check VMs, instance types, flavors and preferences against each other.

    PATH is a file, a folder, or - for standard input. What VMs refer to is looked for in all files given, and
    then in the built-in catalogue.

    Exit status: 0 clean, 1 findings, 2 a path cannot be read.
    """
    # Imported now, since reading help needs no API.
    from virtshape.offline.lint import Run
    from virtshape.offline.mistakes import FilesError

    counts: Counter[str] = Counter()
    try:
        run = Run(paths, catalog=not no_catalog)
        print_findings(run, output, counts)
    except FilesError as error:
        raise NotUnderstood("cannot read what is to be checked", [str(problem) for problem in error.problems]) from None
    click.echo(summarize(counts, run.checked, len(run.files)), err=True)
    failing = LEVELS[: LEVELS.index(fail_on) + 1]
    return 1 if any(counts[level] for level in failing) else 0


def print_findings(run: "Run", output: str, counts: Counter[str]) -> None:
    """Print the findings as they come, and count them."""
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
        sys.stdout.flush()  # so that the summary comes last where both streams go to one log


def count_findings(findings: Iterator["Finding"], counts: Counter[str]) -> Iterator["Finding"]:
    """Pass the findings on, and count them by level."""
    for finding in findings:
        counts[finding.level] += 1
        yield finding


def wants_color() -> bool:
    """Whether standard output is a terminal whose user has not turned colours off."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def summarize(counts: Mapping[str, int], checked: int, files: int) -> str:
    """Say in one line what was found, and in how much."""
    found = ", ".join(count(counts[level], level) for level in LEVELS if counts.get(level)) or "no findings"
    return f"{found}; {count(checked, 'object')} in {count(files, 'file')} checked"


def count(number: int, word: str) -> str:
    """Put the number before the word."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
