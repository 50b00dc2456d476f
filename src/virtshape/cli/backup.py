"""
`virtshape backup`: a copy of a system, running or not, that can be run itself.

Only flags and output.
"""

from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import Refusal


@click.command(
    "backup",
    cls=Command,
    short_help="Copy a system, also while it runs.",
    examples=[
        Example("Copy the system", "virtshape backup /backups/monday"),
        Example("Run the copy in its place", "virtshape up --data-dir /backups/monday"),
    ],
)
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@data_directory_option
def command(target: Path, directory: Path) -> None:
    """
    Copy a data directory into TARGET, a directory that is not there yet.

    The database is copied as of one moment, whatever is written meanwhile, and the copy is checked. It is a data
    directory itself, with the same keys and users, so keep it as safe as the original.
    """
    # Imported now, since reading help needs no store.
    from virtshape.standalone.backup import copy_system
    from virtshape.store.errors import StoreError

    try:
        summary = copy_system(directory, target)
    except FileExistsError:
        raise Refusal(f"{target} exists", next_step="Name a directory that does not.") from None
    except StoreError as error:
        raise Refusal(str(error)) from None
    objects = sum(summary.objects.values())
    click.echo(f"copied {objects} objects at revision {summary.revision} to {target}")
