"""`virtshape user list`: list users with their roles and expiry dates."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.datadir import data_directory_option, name_flag
from virtshape.cli.errors import CommandError

if TYPE_CHECKING:
    from virtshape.apiserver.auth.userregistry import RegistryEntry

HEADERS = ("NAME", "BY", "ROLE", "NAMESPACE", "GROUPS", "ISSUED", "EXPIRES")
NOTHING = "<none>"


@click.command(
    "list",
    cls=Command,
    short_help="List users.",
    examples=[
        Example("List all users", "virtshape user list"),
        Example("List all users as JSON", "virtshape user list -o json"),
    ],
)
@output_choice("table", "json", "yaml", help="Output format.")
@data_directory_option
def command(output: str, directory: Path) -> None:
    """List all users with their credential type, role and expiry date."""
    # Imported here to keep `--help` fast.
    from virtshape.apiserver.auth.users import Directory, list_users
    from virtshape.cli.output import print_object, print_table

    if not (directory / "pki").exists():
        flag = name_flag(directory)
        raise CommandError(
            f"{directory} is not a data directory", next_step=f"Start a server first: virtshape up{flag}"
        )
    entries = list_users(Directory(directory))
    if output == "table":
        print_table(HEADERS, [describe(entry) for entry in entries])
    else:
        print_object({"users": [show(entry) for entry in entries]}, output)


def describe(entry: "RegistryEntry") -> list[str]:
    """Return the table row of a user."""
    return [
        entry.name,
        entry.kind,
        entry.role or NOTHING,
        entry.namespace or NOTHING,
        ",".join(entry.groups) or NOTHING,
        format_day(entry.issued),
        format_day(entry.expires) if entry.expires is not None else "never",
    ]


def show(entry: "RegistryEntry") -> dict[str, object]:
    """Return a user as an object, without credentials."""
    facts = {
        "name": entry.name,
        "by": entry.kind,
        "role": entry.role,
        "namespace": entry.namespace,
        "groups": list(entry.groups),
        "issued": format_time(entry.issued),
        "expires": format_time(entry.expires) if entry.expires is not None else None,
    }
    return {name: fact for name, fact in facts.items() if fact}


def format_day(seconds: float) -> str:
    """Format a Unix timestamp as a date in UTC, such as 2026-01-31."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def format_time(seconds: float) -> str:
    """Format a Unix timestamp as an RFC 3339 time in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
