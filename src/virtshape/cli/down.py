"""
`virtshape down`: stop the server that uses a data directory, and optionally its guests.

The server is never killed; a guest is killed when its grace period ends.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.errors import CommandError
from virtshape.cli.up import print_guests_left

PAUSE_SECONDS = 0.05


@click.command(
    "down",
    cls=Command,
    short_help="Stop a running server.",
    examples=[
        Example("Stop the server and keep its guests running", "virtshape down"),
        Example("Stop the server, then shut down its guests", "virtshape down --guests"),
        Example("Stop another server and wait up to two minutes", "virtshape down --data-dir ./scratch --timeout 120"),
    ],
)
@data_directory_option
@click.option(
    "--guests",
    is_flag=True,
    help="Shut down the guests too. Each is killed after its terminationGracePeriodSeconds.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the server to stop.",
)
def command(directory: Path, guests: bool, timeout: float) -> None:
    """
    Stop the server that uses a data directory. The server finishes requests in progress first.

    Guests keep running, and the next `virtshape up` adopts them. With --guests they are shut down after the server has
    stopped; at the next start the run strategy of each VM decides whether it runs again.

    Exit status: 0 the server is stopped, 1 it is still running.
    """
    process = stop_server(directory, timeout)
    if process is None:
        click.echo(f"no server is running in {directory}")
    else:
        click.echo(f"stopped the server in {directory} (process {process})")
    if guests:
        stop_running_guests(directory)
    else:
        print_guests_left(directory)


def stop_server(directory: Path, timeout: float) -> int | None:
    """Stop the server and return its process id; return None if no server is running."""
    # Imported here to keep `--help` fast.
    from virtshape.store.lock import find_holder

    process = find_holder(directory)
    if process is None:
        return None
    try:
        os.kill(process, signal.SIGTERM)
    except PermissionError:
        raise CommandError(f"process {process} belongs to another user", next_step="Stop it as that user.") from None
    except ProcessLookupError:  # the server has exited in the meantime
        pass
    if not wait_until_ended(directory, process, timeout):
        raise CommandError(
            f"process {process} is still running after {timeout:g} seconds",
            next_step=f"Wait longer with --timeout. Last resort: kill -9 {process}; no acknowledged write is lost.",
        )
    return process


def stop_running_guests(directory: Path) -> None:
    """Shut down all guests of a data directory and print the result."""
    from virtshape.standalone.guests.stopguests import count_guests, list_running_guests, name_guests, stop_guests

    guests = list_running_guests(directory)
    if not guests:
        click.echo("no guests are running")
        return
    longest = max(guest.grace_seconds for guest in guests)
    click.echo(f"shutting down {count_guests(guests)}, for at most {longest:g} seconds: {name_guests(guests)}")
    killed = asyncio.run(stop_guests(guests))
    if killed:
        click.echo(f"killed {count_guests(killed)} that did not shut down in time: {name_guests(killed)}")
    click.echo(f"stopped {count_guests(guests)}")


def wait_until_ended(directory: Path, process: int, timeout: float) -> bool:
    """Wait until the process has released the directory; return False if the timeout expires first."""
    from virtshape.cli.progress import Progress
    from virtshape.store.lock import find_holder

    began = time.monotonic()
    progress = Progress(f"waiting for process {process} to exit (seconds)")
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
