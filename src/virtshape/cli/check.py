"""`virtshape check`: check the integrity of a database file."""

from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import CommandError


@click.command(
    "check",
    cls=Command,
    short_help="Check the integrity of the database.",
    examples=[
        Example("Check the database, even while the server is running", "virtshape check"),
        Example("Check a backup", "virtshape check /backups/monday/virtshape.db"),
    ],
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@data_directory_option
def command(file: Path | None, directory: Path) -> None:
    """
    Check a database file: its structure, its indexes, and that every object's state agrees with its history.

    Exit status: 0 intact, 1 damaged or not readable.
    """
    # Imported here to keep `--help` fast.
    from virtshape.standalone.integrity import check_database
    from virtshape.store.errors import StoreError
    from virtshape.store.store import FILE_NAME
    from virtshape.store.summary import summarize

    path = file or directory / FILE_NAME
    path = path / FILE_NAME if path.is_dir() else path
    if not path.exists():
        raise CommandError(f"{path} does not exist")
    try:
        summary = summarize(path)
        faults = check_database(path)
    except StoreError as error:
        raise CommandError(str(error)) from None
    if faults:
        raise CommandError(
            f"{path} is damaged", faults, "Restore a backup, or save the readable data with `virtshape backup`."
        )
    click.echo(f"{path} is intact: {sum(summary.objects.values())} objects at revision {summary.revision}")
