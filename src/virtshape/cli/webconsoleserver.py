"""`virtshape console-server`: serve the web console inside a cluster."""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import (
    ComponentOptions,
    ServingOptions,
    component_options,
    serve_component,
    serving_options,
)


@click.command(
    "console-server",
    cls=Command,
    short_help="Serve the web console inside a cluster.",
    examples=[
        Example(
            "Run inside a pod, with self-signed certificates", "virtshape console-server --host console.example.com"
        ),
        Example("Use certificates mounted by cert-manager", "virtshape console-server --tls-dir /etc/virtshape/tls"),
    ],
)
@component_options
@serving_options("console")
def command(options: ComponentOptions, serving: ServingOptions) -> None:
    """
    Serve the web console inside a cluster, as the installation manifests do.

    Users sign in with a token. The console sends their requests to the API server with that token, and uses its own
    service account only for its certificate. Sessions are kept in memory, so run one replica. Use `virtshape console`
    to serve the console on your own machine.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.console.process import run

    serve_component("console", run, options, serving, served="the web console")
