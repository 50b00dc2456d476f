"""
`virtshape launcher`: runs one guest, as `virtshape up` and a pod do.

Only flags; the exit status is the guest's.
"""

import sys
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
        Example("Run the guest of this pod, as a cluster does", "virtshape launcher --pod"),
    ],
)
@click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of the guest: its order is read there, everything else is written there.",
)
@click.option("--pod", is_flag=True, help="Run the guest that the pod's environment describes, and end with it.")
def command(directory: Path | None, pod: bool) -> NoReturn:
    """
    Run one guest: make its volumes ready, start QEMU, follow it to its end.

    Started by `virtshape up` for each instance, and seldom by hand. The directory holds `guest.json`, what is to run.
    Then `report.json` says how it is doing, and `control.sock` takes requests. A second process takes over the guest of
    one that was killed. SIGTERM has the guest shut down.

    Exit status: 0 the guest has shut down, 1 it has failed.
    """
    if pod == (directory is not None):
        raise click.UsageError("give one of --directory and --pod")
    if directory is None:
        run_in_pod()
    # Imported now, since reading help needs none of it.
    from virtshape.launcher.guest.run import main
    from virtshape.launcher.layout import Layout

    if not Layout(directory).launch_request.exists():
        raise Refusal(
            f"there is no guest.json in {directory}", next_step="`virtshape up` writes one for each instance."
        )
    main(directory.absolute())


def run_in_pod() -> NoReturn:
    """Run the guest of this pod to its end."""
    import asyncio
    import logging
    import os

    from virtshape.launcher.pod.init_process import fork_from_init
    from virtshape.launcher.pod.paths import INSTANCE_VARIABLE

    if not os.environ.get(INSTANCE_VARIABLE):
        raise Refusal(
            f"${INSTANCE_VARIABLE} does not say what to run",
            next_step="`virtshape controller --runtime=pod` makes pods in which it does.",
        )
    fork_from_init()
    # Imported now, since the first process of a container is small without it.
    from virtshape.launcher.pod.run import run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(asyncio.run(run()))
