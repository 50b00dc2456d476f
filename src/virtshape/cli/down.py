"""
`virtshape down`: has a running system finish and end.

Only signals and waits; a system that does not end is never killed.
"""

import os
import signal
import time
from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import Refusal

PAUSE_SECONDS = 0.05


@click.command(
    "down",
    cls=Command,
    short_help="Stop a running system.",
    examples=[
        Example("Stop it and wait until it has ended", "virtshape down"),
        Example("Stop another one, and give it two minutes", "virtshape down --data-dir ./scratch --timeout 120"),
    ],
)
@data_directory_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for it to end.",
)
def command(directory: Path, timeout: float) -> None:
    """
    Stop the system of a data directory: it finishes what is under way and ends.

    A system that does not run is as good as stopped.

    Exit status: 0 it does not run any more, 1 it still does.
    """
    # Imported now, since reading help needs no store.
    from virtshape.store.lock import find_holder

    process = find_holder(directory)
    if process is None:
        click.echo(f"no system runs in {directory}")
        return
    try:
        os.kill(process, signal.SIGTERM)
    except PermissionError:
        raise Refusal(f"process {process} belongs to another user", next_step="Stop it as that user.") from None
    except ProcessLookupError:  # it has ended by itself
        pass
    if not wait_until_ended(directory, process, timeout):
        raise Refusal(
            f"process {process} still runs after {timeout:g} seconds",
            next_step=f"Wait longer with --timeout; only then: kill -9 {process}, which loses nothing acknowledged.",
        )
    click.echo(f"stopped the system in {directory} (process {process})")


def wait_until_ended(directory: Path, process: int, timeout: float) -> bool:
    """Wait for the process to let go of the directory; whether it did."""
    from virtshape.cli.progress import Progress
    from virtshape.store.lock import find_holder

    began = time.monotonic()
    progress = Progress(f"waiting for process {process} to end, seconds")
    try:
        while find_holder(directory) == process:
            waited = time.monotonic() - began
            if waited >= timeout:
                return False
            progress.show(int(waited), int(timeout))
            time.sleep(PAUSE_SECONDS)
    finally:
        progress.clear()
    return True
