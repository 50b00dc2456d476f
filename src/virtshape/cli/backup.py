"""`virtshape backup`: copy a data directory, even while its server is running."""

from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import CommandError


@click.command(
    "backup",
    cls=Command,
    short_help="Back up a server's data directory.",
    examples=[
        Example("Back up the data directory", "virtshape backup /backups/monday"),
        Example("Run the copy", "virtshape up --data-dir /backups/monday"),
    ],
)
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@data_directory_option
def command(target: Path, directory: Path) -> None:
    """
    Copy a data directory to TARGET, a new directory. The server may be running.

    The copy of the database is a consistent snapshot, and is checked. TARGET contains the same keys and users, so
    protect it like the original.
    """
    # Imported here to keep `--help` fast.
    from virtshape.standalone.backup import copy_system
    from virtshape.store.errors import StoreError

    try:
        summary = copy_system(directory, target)
    except FileExistsError:
        raise CommandError(f"{target} already exists", next_step="Choose a directory that does not exist.") from None
    except StoreError as error:
        raise CommandError(str(error)) from None
    objects = sum(summary.objects.values())
    click.echo(f"copied {objects} objects at revision {summary.revision} to {target}")
