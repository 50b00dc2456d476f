"""`virtshape console`: serve the web console for the API server of a cluster."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import get_cluster, run_component
from virtshape.cli.datadir import data_directory_option
from virtshape.cli.up import LEVELS, Address

if TYPE_CHECKING:
    from virtshape.cluster.console import ConsoleReady

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
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    type=click.Path(dir_okay=False),
    help="Path to the kubeconfig. [default: the pod's service account, $KUBECONFIG or ~/.kube/config]",
)
@click.option("--context", metavar="NAME", default="", help="Kubeconfig context to use.")
@click.option(
    "--listen",
    type=Address(),
    metavar="HOST:PORT",
    default=DEFAULT_LISTEN,
    show_default=True,
    help="Address to serve the console on; port 0 chooses a free port.",
)
@data_directory_option
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="Minimum log level.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Log format."
)
def command(
    kubeconfig: str,
    context: str,
    listen: tuple[str, int],
    directory: Path,
    log_level: str,
    log_format: Literal["text", "json"],
) -> None:
    """
    Serve the web console for the API server of a cluster with virtshape, until Ctrl-C or SIGTERM.

    The console sends requests to the API server with the token that a user signed in with, and has no permissions of
    its own. If the kubeconfig has a token, the command prints a link that signs in with it, once. Sessions end when
    the command ends. The certificate of the console is in the directory `console` of the data directory.

    `virtshape up` serves its own console: use `virtshape open` there.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.console import run

    host, port = listen
    access = get_cluster(kubeconfig, context)
    run_component(run(access, host, port, directory.absolute() / "console", print_ready), log_level, log_format)


def print_ready(ready: "ConsoleReady") -> None:
    """Print the address, and the link if there is one."""
    if ready.link is None:
        click.echo(
            f"The web console is at {ready.url}/console/\n"
            "The kubeconfig has no token; sign in with one, such as that of `kubectl create token NAME`."
        )
    else:
        click.echo(f"The web console is ready; this link works once, within five minutes:\n\n  {ready.link}\n")
    sys.stdout.flush()
