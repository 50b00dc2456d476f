"""
`virtshape check`: whether a database is sound.

Only flags and output.
"""

from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import Refusal


@click.command(
    "check",
    cls=Command,
    short_help="Check that a database is sound.",
    examples=[
        Example("Check the system, also while it runs", "virtshape check"),
        Example("Check a copy of its database", "virtshape check /backups/monday/virtshape.db"),
    ],
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@data_directory_option
def command(file: Path | None, directory: Path) -> None:
    """
    Check a database file: its structure, its indexes, and that state and history agree on every object.

    Exit status: 0 sound, 1 not.
    """
    # Imported now, since reading help needs no store.
    from virtshape.standalone.integrity import check_database
    from virtshape.store.errors import StoreError
    from virtshape.store.store import FILE_NAME
    from virtshape.store.summary import summarize

    path = file or directory / FILE_NAME
    path = path / FILE_NAME if path.is_dir() else path
    if not path.exists():
        raise Refusal(f"there is no {path}")
    try:
        summary = summarize(path)
        faults = check_database(path)
    except StoreError as error:
        raise Refusal(str(error)) from None
    if faults:
        raise Refusal(f"{path} is damaged", faults, "Bring back a backup, or what `virtshape backup` can still copy.")
    click.echo(f"{path} is sound: {sum(summary.objects.values())} objects at revision {summary.revision}")
