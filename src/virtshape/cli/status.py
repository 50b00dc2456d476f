"""`virtshape status`: show whether the server is running, its health and its objects."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option

if TYPE_CHECKING:
    from virtshape.standalone.status import SystemStatus


@click.command(
    "status",
    cls=Command,
    short_help="Show the status of the server.",
    examples=[
        Example("Show the status", "virtshape status"),
        Example("Read the URL in a script", "virtshape status -o json | jq -r .url"),
    ],
)
@data_directory_option
@output_choice("table", "json", "yaml", help="Output format.")
def command(directory: Path, output: str) -> int:
    """
    Show whether the server that uses a data directory is running, its address, health checks and object counts.

    Exit status: 0 running and healthy, 1 not running or unhealthy.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.output import print_object
    from virtshape.standalone.status import read_status

    status = read_status(directory.absolute())
    if output == "table":
        print_status(status)
    else:
        print_object(status, output)
    return 0 if status.healthy else 1


def print_status(status: "SystemStatus") -> None:
    """Print the state and address of the server, the health checks and the number of objects per resource."""
    from virtshape.cli.output import print_table
    from virtshape.standalone.guests.stopguests import name_guests

    facts = {
        "STATE": describe_state(status),
        "DATA": status.data_directory,
        "PROCESS": status.pid and f"{status.pid}, since {status.since} ({describe_age(status)})",
        "ADDRESS": status.url if status.running else None,
        "KUBECONFIG": status.kubeconfig,
        "GUESTS": f"{len(status.guests)} running: {name_guests(status.guests)}" if status.guests else None,
        "REVISION": status.revision,
        "DATABASE": status.database_bytes and f"{status.database_bytes / 1024**2:.1f} MiB",
    }
    for name, fact in facts.items():
        if fact is not None:
            click.echo(f"{name:<11} {fact}")
    if status.checks:
        click.echo()
        rows = [(one.name, "ok" if one.passed else "failed", one.restarts) for one in status.checks]
        print_table(["CHECK", "STATE", "RESTARTS"], rows)
    if status.objects:
        click.echo()
        print_table(["RESOURCE", "OBJECTS"], list(status.objects.items()))


def describe_state(status: "SystemStatus") -> str:
    """Return the state, followed by the problem if there is one."""
    state = ("healthy" if status.healthy else "unhealthy") if status.running else "not running"
    return f"{state}: {status.problem}" if status.problem else state


def describe_age(status: "SystemStatus") -> str:
    """Return how long the server has been running, in kubectl's format."""
    from virtshape.apiserver.encoding.age import format_age

    return format_age(status.since, time.time())
