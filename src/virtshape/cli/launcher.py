"""
`virtshape launcher`: runs one guest, as `virtshape up` and a pod do.

Only flags; the exit status is the guest's.
"""

from pathlib import Path
from typing import NoReturn

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.errors import Refusal


@click.command(
    "launcher",
    cls=Command,
    short_help="Run one guest, from its order to its end.",
    examples=[
        Example("Run the guest that DIR/guest.json describes", "virtshape launcher --directory /run/guest"),
    ],
)
@click.option(
    "--directory",
    metavar="DIR",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of the guest: its order is read there, everything else is written there.",
)
def command(directory: Path) -> NoReturn:
    """
    Run one guest: make its volumes ready, start QEMU, follow it to its end.

    Started by `virtshape up` for each instance, and seldom by hand. The directory holds `guest.json`, what is to run.
    Then `report.json` says how it is doing, and `control.sock` takes requests. A second process takes over the guest of
    one that was killed. SIGTERM has the guest shut down.

    Exit status: 0 the guest has shut down, 1 it has failed.
    """
    # Imported now, since reading help needs none of it.
    from virtshape.launcher.layout import Layout
    from virtshape.launcher.process.run import main

    if not Layout(directory).order.exists():
        raise Refusal(
            f"there is no guest.json in {directory}", next_step="`virtshape up` writes one for each instance."
        )
    main(directory.absolute())
