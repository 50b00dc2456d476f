"""`virtshape apiserver --aggregated`: serve KubeVirt's subresource API as an aggregated API of a cluster."""

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.component import (
    ComponentOptions,
    ServingOptions,
    component_options,
    serve_component,
    serving_options,
)
from virtshape.cli.errors import ArgumentError


@click.command(
    "apiserver",
    cls=Command,
    short_help="Serve the subresource API on a cluster.",
    examples=[
        Example("Run inside a pod", "virtshape apiserver --aggregated"),
        Example(
            "Run locally against the cluster in a kubeconfig",
            "virtshape apiserver --aggregated --kubeconfig ~/.kube/config --log-format text",
        ),
    ],
)
@click.option("--aggregated", is_flag=True, help="Serve behind the cluster's API server. Required.")
@component_options
@serving_options("apiserver")
def command(aggregated: bool, options: ComponentOptions, serving: ServingOptions) -> None:
    """
    Serve KubeVirt's subresource API: start, stop, console, expand-spec and so on, so that virtctl works unchanged.

    The cluster's API server forwards requests with the user's identity, and authorizes them. Several replicas can run.
    Use `virtshape up` for a complete API server in one process.

    Exit status: 0 stopped by a signal, 1 cannot run.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cluster.aggregated.process import run

    if not aggregated:
        raise ArgumentError(
            "--aggregated is required", next_step="Add --aggregated, or run `virtshape up` for a standalone API server."
        )
    serve_component("apiserver", run, options, serving, served="the API")
