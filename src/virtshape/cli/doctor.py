"""`virtshape doctor`: check whether this machine can run the server and guests, and print how to fix problems."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.paramtypes import Address
from virtshape.cli.up import DEFAULT_LISTEN

if TYPE_CHECKING:
    from virtshape.standalone.doctor.checks import Check

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failure": ("✗", "red")}


@click.command(
    "doctor",
    cls=Command,
    short_help="Check whether this machine can run guests.",
    examples=[
        Example("Check this machine", "virtshape doctor"),
        Example("Show only problems", "virtshape doctor -o json | jq '.checks[] | select(.status != \"ok\")'"),
    ],
)
@data_directory_option
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="Address that the server will listen on.",
)
@output_choice("table", "json", "yaml", help="Output format.")
def command(directory: Path, listen: tuple[str, int], output: str) -> int:
    """
    Check whether this machine can run the server and guests, and print the command that fixes each problem.

    `virtshape up` runs the same checks at start. A warning means that some VMs run slower or not at all; a failure
    means that no guest can run.

    Exit status: 0 guests can run, 1 they cannot.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.output import print_object
    from virtshape.standalone.doctor.checks import can_run_guests, check_host, list_fixes
    from virtshape.standalone.doctor.facts import gather_facts

    facts = gather_facts(directory.absolute(), *listen, versions=True, probes=True)
    checks = check_host(facts)
    if output == "table":
        print_checks(checks)
        fixes = list_fixes(checks, facts)
        if fixes:
            click.echo("\nTo fix it:\n" + "\n".join(f"  {fix}" for fix in fixes))
    else:
        trees = [
            {
                "name": check.name,
                "status": check.status,
                "message": check.message,
                **({"fix": check.fix} if check.fix else {}),
            }
            for check in checks
        ]
        print_object({"canRunGuests": can_run_guests(checks), "checks": trees}, output)
    return 0 if can_run_guests(checks) else 1


def print_checks(checks: Sequence["Check"]) -> None:
    """Print one line per check, with a coloured mark on a terminal and the status as a word elsewhere."""
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"{mark(check.status)} {check.name.ljust(width)}  {check.message}")


def mark(status: str) -> str:
    """Return the coloured sign for a status, or the status as text if standard output is not a UTF-8 terminal."""
    sign, colour = _MARKS[status]
    plain = not sys.stdout.isatty() or (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    return status.ljust(len("failure")) if plain else click.style(sign, fg=colour)
