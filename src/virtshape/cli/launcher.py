"""`virtshape launcher`: run one guest, from a directory or in a pod."""

import sys
from pathlib import Path
from typing import NoReturn

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.errors import CommandError


@click.command(
    "launcher",
    cls=Command,
    short_help="Run one guest.",
    examples=[
        Example("Run the guest described by DIR/guest.json", "virtshape launcher --directory /run/guest"),
        Example("Run the guest of this pod", "virtshape launcher --pod"),
    ],
)
@click.option(
    "--directory",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory of the guest, with guest.json. State and logs are written to it.",
)
@click.option("--pod", is_flag=True, help="Run the guest described by the pod's environment, and exit when it stops.")
def command(directory: Path | None, pod: bool) -> NoReturn:
    """
    Run one guest: prepare its volumes, start QEMU and monitor it until it stops.

    `virtshape up` starts one launcher per instance, so this command is rarely run by hand. The directory contains
    `guest.json`, which describes the guest. The launcher writes its status to `report.json` and accepts requests on
    `control.sock`. If a launcher is killed, a new one adopts its guest. SIGTERM shuts the guest down.

    Exit status: 0 the guest has shut down, 1 it has failed.
    """
    if pod == (directory is not None):
        raise click.UsageError("exactly one of --directory and --pod is required")
    if directory is None:
        run_in_pod()
    # Imported here to keep `--help` fast.
    from virtshape.launcher.guest.run import main
    from virtshape.launcher.layout import Layout

    if not Layout(directory).launch_request.exists():
        raise CommandError(
            f"{directory}/guest.json does not exist", next_step="`virtshape up` writes it for each instance."
        )
    main(directory.absolute())


def run_in_pod() -> NoReturn:
    """Run the guest of this pod until it stops."""
    import asyncio
    import logging
    import os

    from virtshape.api.launcherpod import INSTANCE_VARIABLE
    from virtshape.launcher.pod.initprocess import fork_from_init

    if not os.environ.get(INSTANCE_VARIABLE):
        raise CommandError(
            f"${INSTANCE_VARIABLE} is not set",
            next_step="`virtshape controller --runtime=pod` sets it in launcher pods.",
        )
    fork_from_init()
    # Imported here to keep the init process small.
    from virtshape.launcher.pod.run import run

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    sys.exit(asyncio.run(run()))
