"""`virtshape console`: serve the web console for the API server of a cluster."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, LogFormat, log_options
from virtshape.cli.component import cluster_options, get_cluster, run_component
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.paramtypes import Address

if TYPE_CHECKING:
    from virtshape.cluster.console.local import ConsoleReady

DEFAULT_LISTEN = "127.0.0.1:8443"


@click.command(
    "console",
    cls=Command,
    short_help="Serve the web console for a cluster.",
    examples=[
        Example("Serve the console for the cluster of the current context", "virtshape console"),
        Example("Choose a context and a free port", "virtshape console --context staging --listen 127.0.0.1:0"),
    ],
)
@cluster_options
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="Address to serve the console on; port 0 chooses a free port.",
)
@data_directory_option
@log_options("text")
def command(
    kubeconfig: str,
    context: str,
    listen: tuple[str, int],
    directory: Path,
    log_level: str,
    log_format: LogFormat,
) -> None:
    """
    Serve the web console for the API server of a cluster with virtshape, until Ctrl-C or SIGTERM.

    The console sends requests to the API server with the token that a user signed in with, and has no permissions of
    its own. If the kubeconfig has a token, the command prints a one-time link that signs in with it. Sessions end when
    the command ends. The certificate of the console is in the directory `console` of the data directory.

    Installations on a cluster include the console, and `virtshape up` serves its own: use `virtshape open` there.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.console.local import run

    host, port = listen
    access = get_cluster(kubeconfig, context)
    run_component(
        "console", run(access, host, port, directory.absolute() / "console", print_ready), log_level, log_format
    )


def print_ready(ready: "ConsoleReady") -> None:
    """Print the address of the console, and the sign-in link if there is one."""
    if ready.link is None:
        click.echo(
            f"The web console is at {ready.url}/console/\n"
            "The kubeconfig has no token; sign in with a token, such as one from `kubectl create token NAME`."
        )
    else:
        click.echo(f"The web console is ready; this link works once, within five minutes:\n\n  {ready.link}\n")
    sys.stdout.flush()
