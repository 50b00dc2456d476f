"""
`virtshape lint`: check VMs, instance types and preferences in files, and correct some of their mistakes.

Exit status:
    0 no findings    1 findings    2 a path cannot be read, or the command line or settings are invalid
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.errors import ArgumentError, warn

if TYPE_CHECKING:
    from virtshape.offline.lint import FileFindings, Run, Settings

LEVELS = ("error", "warning", "note")


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete the names of rules."""
    from virtshape.offline.lint import RULES

    return [CompletionItem(name, help=rule.title) for name, rule in RULES.items() if name.startswith(incomplete)]


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Complete the names of targets."""
    from virtshape.offline.lint import TARGETS

    return [CompletionItem(name) for name in TARGETS if name.startswith(incomplete)]


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
        Example("Show what a KubeVirt 1.6 cluster would reject or drop", "virtshape lint --target kubevirt-1.6 ."),
        Example("Show how misspelt and deprecated fields would be corrected", "virtshape lint --diff manifests/"),
        Example("Correct misspelt and deprecated fields", "virtshape lint --fix manifests/"),
        Example("Accept all current findings", "virtshape lint --baseline baseline.json --update-baseline manifests/"),
        Example("Report new findings only", "virtshape lint --baseline baseline.json manifests/"),
        Example("Annotate a pull request on GitHub", "virtshape lint -o github manifests/"),
        Example("Write a SARIF file for code scanning", "virtshape lint -o sarif manifests/ > lint.sarif"),
    ],
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--target",
    metavar="NAME",
    shell_complete=complete_targets,
    help="Server to check for: virtshape, or kubevirt-1.3 to kubevirt-1.9.  [default: virtshape]",
)
@click.option(
    "--select",
    metavar="RULE",
    multiple=True,
    shell_complete=complete_rules,
    help="Report only these rules: names or patterns such as 'target-*', separated by commas. Can be repeated.",
)
@click.option(
    "--ignore",
    metavar="RULE",
    multiple=True,
    shell_complete=complete_rules,
    help="Do not report these rules. Can be repeated.",
)
@click.option(
    "--exclude",
    metavar="GLOB",
    multiple=True,
    help="Skip files and directories that match this pattern, such as charts or 'tests/**/*.json'. Can be repeated.",
)
@click.option("--baseline", metavar="FILE", help="Do not report the findings that are listed in this file.")
@switch("--update-baseline", default=False, help="Write all findings to the baseline file.")
@switch("--fix", default=False, help="Correct misspelt and deprecated fields, values and versions in the files.")
@switch("--diff", default=False, help="Show what --fix would change, without changing files.")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(),
    help="Settings file, instead of .virtshape.yaml or pyproject.toml in this directory or a parent directory.",
)
@switch("--no-catalog", default=False, help="Do not use the built-in instance types and preferences.")
@output_choice("text", "concise", "json", "sarif", "github", help="Output format.")
@click.option(
    "--fail-on",
    type=click.Choice(LEVELS),
    help="Exit with status 1 if there is a finding of this level or higher.  [default: warning]",
)
@switch("-v", "--verbose", default=False, help="List the files that are skipped.")
def command(
    paths: Sequence[str],
    target: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    baseline: str | None,
    update_baseline: bool,
    fix: bool,
    diff: bool,
    config: str | None,
    no_catalog: bool,
    output: str,
    fail_on: str | None,
    verbose: bool,
) -> int:
    """
    Check VMs, instance types, flavors and preferences against each other.

    PATH is a file, a directory, or - for standard input. References are resolved in all given files and then in the
    built-in catalog. Files that git ignores, templates, and files without objects of these kinds are skipped.

    A comment `# virtshape: ignore[RULE]` suppresses the findings of its line, or of the next line if its line has only
    the comment. `virtshape rule` explains the rules.

    Exit status: 0 no findings at the level of --fail-on or above, 1 such findings, 2 a path cannot be read.
    """
    # Imported here to keep `--help` fast.
    from virtshape.offline.lint import SettingsError
    from virtshape.offline.problems import FilesError

    try:
        settings = load_settings(config).with_flags(
            target=target,
            select=split_names(select),
            ignore=split_names(ignore),
            exclude=tuple(exclude),
            baseline=baseline,
            catalog=False if no_catalog else None,
            fail_on=fail_on,
        )
        if update_baseline:
            return write_baseline(paths, settings)
        if diff:
            return print_diff(paths, settings)
        if fix:
            fix_files(paths, settings)
        return lint_files(paths, settings, output, verbose=verbose)
    except FilesError as error:
        raise ArgumentError("some paths cannot be read", [str(problem) for problem in error.problems]) from None
    except SettingsError as error:
        raise ArgumentError("the settings are invalid", [cause.message for cause in error.causes]) from None


def load_settings(config: str | None) -> "Settings":
    """Return the settings in the named file, or in the nearest settings file."""
    from virtshape.offline.lint import SettingsError, get_settings, read_settings

    if config is None:
        return get_settings()
    settings = read_settings(Path(config).absolute())
    if settings is None:
        raise SettingsError(config, ["has no table [tool.virtshape.lint]"])
    return settings


def split_names(values: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the values of a repeated flag; a value may contain several, separated by commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def start_run(paths: Sequence[str], settings: "Settings") -> "Run":
    """Return a Run with the files to check and the objects that VMs may refer to."""
    from virtshape.offline.lint import Run
    from virtshape.offline.lint.run import count_cpus

    return Run(paths, catalog=settings.content.catalog, settings=settings, processes=count_cpus())


def lint_files(paths: Sequence[str], settings: "Settings", output: str, *, verbose: bool) -> int:
    """Print the findings and a summary, and return the exit status."""
    run = start_run(paths, settings)
    counts: Counter[str] = Counter()
    print_findings(run, output, counts)
    report_skipped(run, verbose=verbose)
    if not run.files:
        warn("no files to check")
    if run.baseline.stale:
        stale = count(run.baseline.stale, "finding")
        click.echo(
            f"the baseline contains {stale} that lint did not find: run with --update-baseline to rewrite it", err=True
        )
    click.echo(summarize(counts, run.checked, len(run.files)), err=True)
    failing = LEVELS[: LEVELS.index(settings.content.fail_on) + 1]
    return 1 if any(counts[level] for level in failing) else 0


def print_findings(run: "Run", output: str, counts: Counter[str]) -> None:
    """Print the findings of each file as soon as it is checked, and count them."""
    from virtshape.cli.progress import Progress
    from virtshape.offline.lint.output import render

    progress = Progress("files checked")
    try:
        files = count_findings(run.check(progress.show), counts)
        for piece in render(output, files, color=wants_color()):
            progress.clear()
            sys.stdout.write(piece)
    finally:
        progress.clear()
        sys.stdout.flush()  # so that the summary on stderr comes last if both streams are in one log


def count_findings(files: Iterable["FileFindings"], counts: Counter[str]) -> Iterator["FileFindings"]:
    """Yield the files, and count their findings by level."""
    for file in files:
        counts.update(finding.level for finding in file.findings)
        yield file


def report_skipped(run: "Run", *, verbose: bool) -> None:
    """Print how many files were skipped and why; if `verbose`, also print their names."""
    if not run.skipped:
        return
    skipped = sorted(run.skipped.items())
    causes = ", ".join(count(len(files), reason.one, reason.many) for reason, files in skipped)
    total = count(sum(len(files) for _, files in skipped), "file")
    click.echo(f"{total} skipped: {causes}" + ("" if verbose else " (-v lists them)"), err=True)
    for reason, files in skipped if verbose else ():
        click.echo("".join(f"  {file} ({reason.one})\n" for file in files), err=True, nl=False)


def write_baseline(paths: Sequence[str], settings: "Settings") -> int:
    """Write all findings to the baseline file, and return the exit status."""
    from virtshape.offline.lint import SettingsError, format_baseline

    path = settings.baseline
    if path is None:
        raise SettingsError("--update-baseline", ["requires --baseline FILE"])
    findings = list(start_run(paths, settings.without_baseline()).find())
    Path(path).write_text(format_baseline(findings, path), "utf-8")
    click.echo(f"{count(len(findings), 'finding')} written to {path}", err=True)
    return 0


def fix_files(paths: Sequence[str], settings: "Settings") -> None:
    """Correct the files, and print how many findings were corrected."""
    from virtshape.offline.files import STDIN

    if STDIN in paths:
        raise ArgumentError("standard input cannot be corrected: use --diff, or specify files")
    run = start_run(paths, settings)
    fixed = files = 0
    for file in run.files:
        before, corrected = run.fix(file)
        if not corrected.fixed:
            continue
        if run.write(file, before, corrected.text):
            fixed, files = fixed + len(corrected.fixed), files + 1
        else:
            warn(f"{file.name} changed while it was being checked, so it was not corrected")
    click.echo(f"{count(fixed, 'finding')} corrected in {count(files, 'file')}", err=True)


def print_diff(paths: Sequence[str], settings: "Settings") -> int:
    """Print what `--fix` would change as a unified diff; return 1 if there are changes, otherwise 0."""
    from virtshape.offline.lint import format_diff

    run = start_run(paths, settings)
    fixed = files = 0
    for file in run.files:
        before, corrected = run.fix(file)
        if corrected.fixed:
            fixed, files = fixed + len(corrected.fixed), files + 1
            click.echo(format_diff(before, corrected.text, file.name), nl=False)
    click.echo(f"{count(fixed, 'finding')} in {count(files, 'file')} would be corrected", err=True)
    return 1 if fixed else 0


def wants_color() -> bool:
    """Return True if standard output is a terminal and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def summarize(counts: Mapping[str, int], checked: int, files: int) -> str:
    """Return the summary line."""
    found = ", ".join(count(counts[level], level) for level in LEVELS if counts.get(level)) or "no findings"
    return f"{found}; {count(checked, 'object')} in {count(files, 'file')} checked"


def count(number: int, one: str, many: str = "") -> str:
    """Return the number with the noun in singular or plural."""
    return f"{number} {one}" if number == 1 else f"{number} {many or one + 's'}"
